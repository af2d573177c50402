/* SPDX-License-Identifier: Apache-2.0 */
/* The operations and their tree; see op.h. */
#include "op.h"

#include <string.h>

static const struct {
	const char *name;
	enum ck_op parent;
	int path;
} table[CK_OP_COUNT] = {
#define ROW(id, name, parent, path) { name, CK_OP_##parent, path },
	CK_OP_TABLE(ROW)
#undef ROW
};

static enum ck_op
known(enum ck_op op)
{
	return (unsigned int)op < CK_OP_COUNT ? op : CK_OP_DEFAULT;
}

const char *
ck_op_name(enum ck_op op)
{
	return table[known(op)].name;
}

ck_err
ck_op_find(const char *name, enum ck_op *ret)
{
	for (unsigned int i = 0; i < CK_OP_COUNT; i++)
		if (strcmp(table[i].name, name) == 0) {
			*ret = (enum ck_op)i;
			return CK_OK;
		}
	return CK_USAGE;
}

enum ck_op
ck_op_parent(enum ck_op op)
{
	return table[known(op)].parent;
}

ck_ops
ck_op_lineage(enum ck_op op)
{
	ck_ops all = CK_OPS(DEFAULT);

	for (op = known(op); op != CK_OP_DEFAULT; op = table[op].parent)
		all |= (ck_ops)1 << op;
	return all;
}

ck_ops
ck_op_with_path(void)
{
	ck_ops all = 0;

	for (unsigned int i = 0; i < CK_OP_COUNT; i++)
		if (table[i].path != 0)
			all |= (ck_ops)1 << i;
	return all;
}
