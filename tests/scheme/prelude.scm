; SPDX-License-Identifier: Apache-2.0
; An oracle for Seatbelt profiles: binds the words of the language so that a
; profile runs as the Scheme program it is, collects its rules, and decides
; in both readings of rule order.  Shares no code with the evaluator in C.
;
; For Debian's tinyscheme, whose string-ref, string=? and equal? on strings
; fail: strings are compared as symbols, characters are one-byte symbols.

(define (fail . what)
  (for-each display what)
  (newline)
  (error "oracle"))

; The heap grows only while much is alive, up to 50,000 cells; else it stays
; small and is collected all the time.  So make it large once.
(define ballast
  (let loop ((n 10000) (acc '()))
    (if (= n 0) acc (loop (- n 1) (cons n acc)))))
(set! ballast '())

; --- bytes ---------------------------------------------------------------

(define (same? a b) (eq? (string->symbol a) (string->symbol b)))
(define (byte s i) (string->symbol (substring s i (+ i 1))))
(define (explode s)
  (let loop ((i (- (string-length s) 1)) (acc '()))
    (if (< i 0) acc (loop (- i 1) (cons (byte s i) acc)))))
(define (starts? s head)
  (let ((n (string-length head)))
    (and (>= (string-length s) n) (same? (substring s 0 n) head))))

; --- the words of the language -------------------------------------------

(define parents '(
  (file* . default)
  (file-read* . file*) (file-read-data . file-read*)
  (file-read-metadata . file-read*) (file-read-xattr . file-read*)
  (file-write* . file*) (file-write-acl . file-write*)
  (file-write-create . file-write*) (file-write-data . file-write*)
  (file-write-finderinfo . file-write*) (file-write-flags . file-write*)
  (file-write-mode . file-write*) (file-write-owner . file-write*)
  (file-write-setugid . file-write*) (file-write-times . file-write*)
  (file-write-unlink . file-write*) (file-write-xattr . file-write*)
  (file-clone . file*) (file-link . file*) (file-map-executable . file*)
  (file-mount . file*) (file-unmount . file*) (file-test-existence . file*)
  (process* . default) (process-exec* . process*) (process-fork . process*)
  (process-info* . process*) (signal . default) (sysctl-read . default)
  (dynamic-code-generation . default) (pseudo-tty . default)
  (file-ioctl . file*) (mach* . default) (mach-lookup . mach*)
  (system-socket . default)
  (network* . default) (network-bind . network*)
  (network-inbound . network*) (network-outbound . network*)))

(define default 'default)
(for-each (lambda (pair)
            (eval (list 'define (car pair) (list 'quote (car pair)))
                  (interaction-environment)))
          parents)
(define message 'message)

(define rules '())       ; newest first: (effect operations filters)
(define versioned #f)

(define (profile-begin) (set! rules '()) (set! versioned #f))
(define (version n)
  (if (or versioned (not (null? rules)) (not (= n 1)))
      (fail "version is not the first form"))
  (set! versioned #t))
(define (with . rest) '(modifier))

(define (sift keep? list)
  (cond ((null? list) '())
        ((keep? (car list)) (cons (car list) (sift keep? (cdr list))))
        (else (sift keep? (cdr list)))))
(define (known word)
  (if (not (or (procedure? word) (pair? word) (eq? word 'default)
               (assq word parents)))
      (fail "not an operation: " word)))
(define (rule effect words)
  (if (not versioned) (fail "a rule before version"))
  (for-each known words)
  (set! rules (cons (list effect (sift symbol? words)
                          (sift procedure? words))
                    rules)))
(define (allow . words) (rule 'A words))
(define (deny . words) (rule 'D words))

; --- filters: functions of a path, as symbol and as list of bytes ---------

(define (any? test list)
  (cond ((null? list) #f)
        ((test (car list)))
        (else (any? test (cdr list)))))
(define (absolute owns)
  (for-each (lambda (own)
              (if (not (starts? own "/")) (fail "not absolute: " own)))
            owns)
  owns)

; What is left of bytes behind head, or #f when it does not start so.
(define (behind head bytes)
  (cond ((null? head) bytes)
        ((null? bytes) #f)
        ((eq? (car head) (car bytes)) (behind (cdr head) (cdr bytes)))
        (else #f)))

(define (literal . owns)
  (let ((names (map string->symbol (absolute owns))))
    (lambda (name bytes) (memq name names))))
(define (prefix . owns)
  (let ((heads (map explode (absolute owns))))
    (lambda (name bytes) (any? (lambda (head) (behind head bytes)) heads))))
(define (subpath . owns)
  (let ((heads (map explode (absolute owns))))
    (lambda (name bytes)
      (any? (lambda (head)
              (let ((rest (behind head bytes)))
                (and rest (or (null? rest) (null? (cdr head))
                              (eq? (car rest) b-slash)))))
            heads))))
(define (require-all . filters)
  (lambda (name bytes)
    (not (any? (lambda (f) (not (f name bytes))) filters))))
(define (require-any . filters)
  (lambda (name bytes) (any? (lambda (f) (f name bytes)) filters)))
(define (require-not filter)
  (lambda (name bytes) (not (filter name bytes))))

; Of an envelope: about processes, services and addresses, so that no path is
; ever one of them.
(define (no-path . rest) (lambda (name bytes) #f))
(define target no-path)
(define extension no-path)
(define global-name no-path)
(define remote no-path)
(define local no-path)
(define same-sandbox 'same-sandbox)
(define ip 'ip)
(define (import file)
  (if (not versioned) (fail "an import before version")))

; --- regular expressions -------------------------------------------------
; Only what the renderer may write: ^ in front, bytes for themselves, classes
; without ranges but 0-9, a backslash before punctuation, and at the end $ or
; (/|$).  A bare special byte elsewhere is an error, so that a missing escape
; cannot pass for a match of something else.

(define b-open (string->symbol "["))
(define b-close (string->symbol "]"))
(define b-back (string->symbol "\\"))
(define b-caret (string->symbol "^"))
(define b-dollar (string->symbol "$"))
(define b-paren (string->symbol "("))
(define b-dash (string->symbol "-"))
(define b-slash (string->symbol "/"))
(define special (explode "^$.[]*+?|(){}\\"))
(define digits (explode "0123456789"))
(define slash-or-end (explode "(/|$)"))
(define only-end (list b-dollar))
(define digit-range (explode "0-9"))

(define (same-list? a b)
  (cond ((null? a) (null? b))
        ((null? b) #f)
        (else (and (eq? (car a) (car b)) (same-list? (cdr a) (cdr b))))))

(define (class-end rest)       ; rest begins behind the [
  (let loop ((rest rest) (acc '()))
    (cond ((null? rest) (fail "a class is not closed"))
          ((and (eq? (car rest) b-close) (pair? acc))
           (cons (reverse acc) (cdr rest)))
          (else (loop (cdr rest) (cons (car rest) acc))))))
(define (class-members members)
  (cond ((same-list? members digit-range) digits)
        ((or (memq b-caret members) (memq b-back members)
             (memq b-dash members) (memq b-open members))
         (fail "a class outside the subset"))
        (else members)))

; A class of one member is that byte, and equal classes are one list: a whole
; profile has to fit into 50,000 cells.
(define classes '())
(define (shared members)
  (if (null? (cdr members))
      (car members)
      (let ((found (any? (lambda (c) (and (same-list? c members) c))
                         classes)))
        (if (not found) (set! classes (cons members classes)))
        (or found members))))

(define (items rest)           ; list of bytes and classes, perhaps with an
  (cond ((null? rest) '())     ; improper end that says how it may end
        ((same-list? rest slash-or-end) 'slash-or-end)
        ((same-list? rest only-end) 'end)
        ((eq? (car rest) b-open)
         (let ((found (class-end (cdr rest))))
           (cons (shared (class-members (car found)))
                 (items (cdr found)))))
        ((eq? (car rest) b-back)
         (if (or (null? (cdr rest)) (not (memq (cadr rest) special)))
             (fail "a backslash before an ordinary byte"))
         (cons (cadr rest) (items (cddr rest))))
        ((memq (car rest) special)
         (fail "a special byte stands alone: " (car rest)))
        (else (cons (car rest) (items (cdr rest))))))

(define (matches? items bytes)
  (cond ((pair? items)
         (and (pair? bytes)
              (or (eq? (car items) (car bytes))
                  (and (pair? (car items)) (memq (car bytes) (car items))))
              (matches? (cdr items) (cdr bytes))))
        ((null? items) #t)
        ((null? bytes) #t)
        (else (and (eq? items 'slash-or-end) (eq? (car bytes) b-slash)))))

(define (parsed bytes)
  (if (or (null? bytes) (not (eq? (car bytes) b-caret)))
      (fail "a regular expression is not anchored"))
  (items (cdr bytes)))
(define (matcher items)        ; keeps nothing else alive
  (lambda (name bytes) (matches? items bytes)))
(define (regex text) (matcher (parsed (explode text))))

; --- decisions -----------------------------------------------------------
; Judged rules are those that match, newest first.

(define (judge path)
  (let ((name (string->symbol path)) (bytes (explode path)))
    (sift (lambda (r) (or (null? (caddr r))
                          (any? (lambda (f) (f name bytes)) (caddr r))))
          rules)))

(define (newest rules op filtered)
  (cond ((null? rules) #f)
        ((and (memq op (cadar rules))
              (eq? filtered (pair? (caddr (car rules)))))
         (car rules))
        (else (newest (cdr rules) op filtered))))

(define (parent op)
  (if (eq? op 'default) (fail "no default") (cdr (assq op parents))))

; S: the most specific operation that has a decision.
(define (specific rules op)
  (let ((found (or (newest rules op #t) (newest rules op #f))))
    (if found (car found) (specific rules (parent op)))))

; G: the newest rule at any level.
(define (stands-for? op named)
  (or (memq op named)
      (and (not (eq? op 'default)) (stands-for? (parent op) named))))
(define (last-match rules op)
  (cond ((null? rules) (fail "no default"))
        ((stands-for? op (cadar rules)) (caar rules))
        (else (last-match (cdr rules) op))))

; One line: for each operation the two verdicts, A or D, S before G.
(define (ask path . ops)
  (let ((judged (judge path)))
    (for-each (lambda (op)
                (display (specific judged op))
                (display (last-match judged op))
                (display " "))
              ops)
    (newline)))

(define (expect op path s g)
  (let* ((judged (judge path))
         (got-s (specific judged op))
         (got-g (last-match judged op)))
    (display (if (and (eq? got-s s) (eq? got-g g)) "as pinned" "DIFFERS"))
    (for-each display (list " " op " " path " " got-s got-g))
    (newline)))
