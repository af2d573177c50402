; SPDX-License-Identifier: Apache-2.0
; Profiles whose verdicts are known from reports on real systems, as profile
; text, with the verdict by specificity (S) and by last match (G).

(profile-begin)
(version 1)
(allow default)(deny file-read* (literal "/a"))
(expect file-read-data "/a" 'D 'D)
(expect file-read-data "/ab" 'A 'A)
(expect file-read-data "/a/b" 'A 'A)

(profile-begin)
(version 1)
(allow default)(deny file-read* (subpath "/a"))
(expect file-read-data "/a" 'D 'D)
(expect file-read-data "/a/b" 'D 'D)
(expect file-read-data "/ab" 'A 'A)

(profile-begin)
(version 1)
(deny default)(allow file-read* (subpath "/a"))
(deny file-read* (subpath "/a/s"))(allow file-read* (literal "/a/s/x"))
(expect file-read-data "/a/s/x" 'A 'A)
(expect file-read-data "/a/s/y" 'D 'D)

(profile-begin)
(version 1)
(deny default)(allow file-read-data (subpath "/"))
(deny file-read* (literal "/p/.env"))
(expect file-read-data "/p/.env" 'A 'D)

(profile-begin)
(version 1)
(allow default)(deny file-read-data (subpath "/k"))
(allow file-read* (literal "/k/db"))
(expect file-read-data "/k/db" 'D 'A)

(profile-begin)
(version 1)
(allow file-write* (subpath "/t"))(deny file-write*)(allow default)
(expect file-write-data "/t/x" 'A 'A)
(expect file-write-data "/e" 'D 'A)

(profile-begin)
(version 1)
(deny default)(allow file-read-metadata)(allow file-read* (subpath "/w"))
(deny file-read* (literal "/w/e"))
(expect file-read-metadata "/w/e" 'A 'D)

(profile-begin)
(version 1)
(allow default)(deny network-outbound (literal "/s"))
(allow network-outbound)
(expect network-outbound "/s" 'D 'A)

(profile-begin)
(version 1)
(allow default)(deny file-read* file-write* (literal "/k"))
(expect file-link "/k" 'A 'A)

(profile-begin)
(version 1)
(allow default)(deny file-write* (literal "/d"))
(expect file-write-create "/d/x" 'A 'A)
(expect file-write-unlink "/d" 'D 'D)

(profile-begin)
(version 1)
(allow default)
(deny file-read* (require-all (subpath "/a") (require-not (literal "/a/ok"))))
(expect file-read-data "/a/ok" 'A 'A)
(expect file-read-data "/a/no" 'D 'D)
