;; Drives a real Emacs with eglot through what a person does, a function a flow, each in a file of its own. Prints a line
;; for what holds; the first thing that does not ends it. Environment: ADACODER_CONFIG (the Lisp of docs/editors.md).
;; The files are in the current folder. In batch mode no idle timers run, so changes are sent here as they would send them.

(package-initialize)
(load (getenv "ADACODER_CONFIG") nil t)
(setq eglot-sync-connect 20)

(defvar told nil "What the person was told, the last first.")
(advice-add 'message :before (lambda (form &rest arguments) (when form (push (apply #'format form arguments) told))))

(defun check (condition what)
  (unless condition (error "not so: %s" what))
  (princ (format "ok %s\n" what)))

(defmacro wait (condition what)
  `(let ((until (+ (float-time) 30)))
     (while (and (not ,condition) (< (float-time) until)) (accept-process-output nil 0.02))
     (check ,condition ,what)))

(defun press (key) (call-interactively (key-binding (kbd key))))

(defun status () (plist-get (jsonrpc-request (eglot-current-server) :workspace/executeCommand
                                             '(:command "adacoder.server.status" :arguments [])) :jobs))

(defun open (file)
  (find-file file)
  (buffer-enable-undo)
  (unless (eglot-current-server) (apply #'eglot (eglot--guess-contact)))
  (eglot--maybe-activate-editing-mode)
  (check (eglot--server-capable :codeActionProvider) (concat file ": the server offers code actions"))
  (setq told nil))

(defun take (wanted)
  "Ask for code actions at the docstring, and take the one whose title holds WANTED."
  (goto-char (point-min))
  (search-forward "\"\"\"")
  (let ((offered nil) (last-nonmenu-event t))
    (cl-letf (((symbol-function 'completing-read)
               (lambda (_ items &rest _)
                 (setq offered (mapcar (lambda (item) (if (consp item) (car item) item)) items))
                 (or (cl-find-if (lambda (title) (string-match-p (regexp-quote wanted) title)) offered)
                     (error "of %S none is %s" offered wanted)))))
      (eglot-code-actions (point) (point) nil t))
    (check offered (format "offered, and one was taken: %S" offered))))

(defun text () (buffer-substring-no-properties (point-min) (point-max)))

(defun save-and-undo (before)
  "Save, see that one undo gives the text BEFORE, and go on with what was saved."
  (save-buffer)
  (undo-boundary)
  (let ((last-command nil)) (undo))
  (check (equal (text) before) "one undo takes it back")
  (revert-buffer t t))

(defun type (text)
  "Insert TEXT at point, as somebody who types it."
  (insert text)
  (undo-boundary)
  (eglot--signal-textDocument/didChange))

(defun was-told (words) (cl-some (lambda (each) (string-match-p (regexp-quote words) each)) told))

(defun flow-generate ()
  (open "initials.py")
  (let ((before (text)))
    (undo-boundary)
    (take "AdaCoder: generate function")
    (wait (not (equal (text) before)) "the function is written")
    (wait (was-told "2/2") "the person is told")
    (save-and-undo before)))

(defun flow-cancel ()
  (open "forever.py")
  (let ((before (text)))
    (take "AdaCoder: generate function")
    (check (= (length (status)) 1) "it runs")
    (press "C-c a c")
    (wait (= (length (status)) 0) "its key cancels it")
    (check (equal (text) before) "and the text is as it was")))

(defun flow-typing ()
  (open "slowly.py")
  (let ((before (text)) typed)
    (take "AdaCoder: generate function")
    (goto-char (point-min))
    (type "B = \"typed meanwhile\"\n")
    (setq typed (concat "B = \"typed meanwhile\"\n" before))
    (check (= (length (status)) 1) "typing goes on while it runs")
    (wait (not (equal (text) typed)) "the function is written")
    (check (string-prefix-p typed (text)) "and nothing that was typed is lost")
    (save-buffer)))

(defun flow-unverified ()
  (open "shout.py")
  (let ((typed (concat "y = 1\n" (text))))
    (take "AdaCoder: generate function")
    (wait (was-told "kept") "what has no examples is kept")
    (goto-char (point-min))
    (type "y = 1\n")
    (check (equal (text) typed) "and not inserted, whatever is typed then")
    (take "Insert AdaCoder's result for 'shout' (unverified)")
    (wait (not (equal (text) typed)) "the action inserts it")
    (save-and-undo typed)))

(defun flow-edited ()
  (open "edited.py")
  (take "AdaCoder: generate function")
  (search-forward "capitals.")
  (type " Please.")
  (let ((typed (text)))
    (check (= (length (status)) 1) "somebody types in the function while it runs")
    (wait (was-told "kept") "it ends")
    (check (equal (text) typed) "the text is left as it was typed")
    (take "Insert AdaCoder's result for 'edited' (2/2 examples)")
    (wait (not (equal (text) typed)) "the result was kept, and is inserted")
    (check (string-prefix-p typed (text)) "below what was typed")
    (save-buffer)))

(condition-case problem
    (dolist (flow '(flow-generate flow-cancel flow-typing flow-unverified flow-edited)) (funcall flow))
  (error (princ (format "FAILED %s\ntold: %S\n" (error-message-string problem) told))
         (kill-emacs 1)))
(kill-emacs 0)
