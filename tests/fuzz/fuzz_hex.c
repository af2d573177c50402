/* SPDX-License-Identifier: Apache-2.0 */
/* Hex text of any kind is decoded or refused, and decoding inverts encoding. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(2 * size + 1);
	uint8_t *back = malloc(size + 1);

	if (text == NULL || back == NULL)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (ck_hex_decode(text, back, size / 2) == CK_OK &&
	    strlen(text) != size / 2 * 2)
		abort();
	ck_hex_encode(data, size, text);
	if (ck_hex_decode(text, back, size) != CK_OK ||
	    memcmp(back, data, size) != 0)
		abort();
	free(text);
	free(back);
	return 0;
}
