;;; adacoder.el --- Write Python functions from their docstrings  -*- lexical-binding: t; -*-

;; Copyright (c) 2026 The AdaCoder developers

;; Author: The AdaCoder developers
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: languages, tools
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; AdaCoder writes Python functions from their docstrings with a model on your own machine, and runs the docstring's
;; examples before it offers anything.  This package adds its commands to eglot or lsp-mode:
;;
;;     (adacoder-setup)
;;     (define-key adacoder-mode-map (kbd "C-c a") 'adacoder-command-map) ; a prefix of your own, beside C-c "
;;
;; Then start `eglot' or `lsp' in a Python file.  C-c " m shows the menu.

;;; Code:

(require 'cl-lib)
(require 'compile)
(require 'eieio)
(require 'transient)
(require 'url-util)

(defvar eglot-confirm-server-edits)
(defvar eglot-confirm-server-initiated-edits)
(defvar eglot-server-programs)
(defvar lsp--cur-workspace)
(defvar lsp-language-id-configuration)
(declare-function adacoder-eglot-server--eieio-childp "adacoder" (object))
(declare-function eglot-current-server "eglot" ())
(declare-function eglot-managed-p "eglot" ())
(declare-function eglot--TextDocumentIdentifier "eglot" ())
(declare-function eglot--signal-textDocument/didChange "eglot" ())
(declare-function jsonrpc-request "jsonrpc" (connection method params &rest args))
(declare-function lsp-feature? "lsp-mode" (method))
(declare-function lsp-find-workspace "lsp-mode" (server-id &optional file-name))
(declare-function lsp-register-client "lsp-mode" (client))
(declare-function lsp-request "lsp-mode" (method params &rest args))
(declare-function lsp-stdio-connection "lsp-mode" (command &optional test-command))
(declare-function lsp-text-document-identifier "lsp-mode" ())
(declare-function make-lsp-client "lsp-mode" (&rest args))

(defgroup adacoder nil
  "Write Python functions from their docstrings."
  :group 'tools)

(defcustom adacoder-program "adacoder"
  "AdaCoder's program: a name in the variable `exec-path', or an absolute path.
A new value takes effect when the server starts."
  :type 'string)

(defcustom adacoder-model nil
  "Model, such as \"qwen2.5-coder:7b\".
Several models form a ladder: each is asked if the previous one failed.
If nil, `adacoder-settings' or the project decides, else AdaCoder takes
the best code model that Ollama has."
  :type '(choice (const :tag "Not set" nil) string (repeat string)))

(defcustom adacoder-settings nil
  "Further settings, as a property list with the names in docs/settings.md.
For example: (:crossCheck t :ollama (:host \"http://gpu:11434\")).
False is `:json-false'."
  :type 'plist)

(defcustom adacoder-modes '(python-mode python-ts-mode)
  "Major modes in which AdaCoder is the server, or one of the servers.
A new value takes effect when Emacs starts."
  :type '(repeat symbol))

(defvar adacoder-wish-history nil "History of wishes.")

(defvar adacoder--progress nil "Texts of the jobs, by a list of server and token.")


;;; The connection

(defun adacoder--eglot ()
  "Return the connection of eglot to AdaCoder in this buffer."
  (let ((server (and (fboundp 'eglot-managed-p) (eglot-managed-p) (eglot-current-server))))
    (and server (object-of-class-p server 'adacoder-eglot-server) server)))

(defun adacoder--lsp ()
  "Return the workspace of lsp-mode for AdaCoder in this buffer, once ready."
  (let ((lsp--cur-workspace (and (bound-and-true-p lsp-managed-mode) buffer-file-name
                                 (lsp-find-workspace 'adacoder buffer-file-name))))
    (and lsp--cur-workspace (lsp-feature? "workspace/executeCommand") lsp--cur-workspace)))

(defun adacoder--server ()
  "Return the server of this buffer, or signal a `user-error'."
  (or (adacoder--eglot) (adacoder--lsp)
      (user-error "AdaCoder does not run here: start it with M-x eglot or M-x lsp in a Python file")))

(defun adacoder--request (method params)
  "Send AdaCoder a request METHOD with PARAMS, and return the answer."
  (let ((server (adacoder--server)))
    (if (not (adacoder--eglot))
        (let ((lsp--cur-workspace server)) ; no other server of this buffer gets it
          (lsp-request method params))
      (eglot--signal-textDocument/didChange) ; the server needs what was typed first
      (jsonrpc-request server (intern (concat ":" method)) params))))

(defun adacoder--get (object &rest keys)
  "Return the member of OBJECT at the path KEYS.
OBJECT is a property list of eglot, or a hash table of lsp-mode."
  (dolist (key keys object)
    (setq object (if (hash-table-p object) (gethash (substring (symbol-name key) 1) object) (plist-get object key)))))

(defun adacoder--document ()
  "Return the identifier of the document in this buffer."
  (adacoder--server)
  (if (adacoder--eglot) (eglot--TextDocumentIdentifier) (lsp-text-document-identifier)))

(defun adacoder--execute (command &rest argument)
  "Execute AdaCoder's COMMAND with the property list ARGUMENT."
  (adacoder--request "workspace/executeCommand" (list :command (concat "adacoder.server." command)
                                                      :arguments (if argument (vector argument) []))))

(defun adacoder--at-point (command &rest more)
  "Execute AdaCoder's COMMAND on the function at point, with MORE members."
  (let ((position (list :line (1- (line-number-at-pos nil t)) :character 0)))
    (apply #'adacoder--execute command :position position (append more (adacoder--document)))))

(defun adacoder--settings (sections)
  "Return the settings, once for each of the SECTIONS of a request."
  (let ((all (copy-sequence adacoder-settings)))
    (when adacoder-model
      (setq all (plist-put all :model (if (consp adacoder-model) (vconcat adacoder-model) adacoder-model))))
    (make-vector sections (or all (make-hash-table)))))

(defun adacoder--say (text)
  "Show TEXT in one line of the echo area.  *Messages* has all of it."
  (let ((message-truncate-lines t))
    (message "AdaCoder: %s" (string-remove-prefix "AdaCoder: " text))))

(defun adacoder--show-progress (server token value)
  "Show the progress VALUE of the job of SERVER with TOKEN in the mode line."
  (setq adacoder--progress
        (cl-delete-if (lambda (each) (and (eq (caar each) server) (equal (cadar each) token))) adacoder--progress))
  (unless (equal (adacoder--get value :kind) "end")
    (push (cons (list server token) (or (adacoder--get value :message) (adacoder--get value :title))) adacoder--progress))
  (force-mode-line-update t))

(with-eval-after-load 'eglot
  (defclass adacoder-eglot-server (eglot-lsp-server) ()
    :documentation "AdaCoder's server in eglot.")

  (cl-defmethod eglot-client-capabilities ((_server adacoder-eglot-server))
    "Add progress, which eglot 1.9 does not have."
    (let ((all (cl-call-next-method)))
      (plist-put all :window (plist-put (plist-get all :window) :workDoneProgress t))))

  (cl-defmethod eglot-handle-request ((_server adacoder-eglot-server) (_method (eql 'window/workDoneProgress/create))
                                      &rest _)
    "Accept each token.")

  (cl-defmethod eglot-handle-notification ((server adacoder-eglot-server) (_method (eql '$/progress))
                                           &key token value)
    "Show the progress VALUE of TOKEN of SERVER."
    (adacoder--show-progress server token value))

  (cl-defmethod eglot-handle-notification ((_server adacoder-eglot-server) (_method (eql 'window/showMessage))
                                           &key message &allow-other-keys)
    "Show MESSAGE."
    (adacoder--say message))

  (cl-defmethod eglot-handle-request ((_server adacoder-eglot-server) (_method (eql 'workspace/configuration))
                                      &key items)
    "Answer with the settings for ITEMS."
    (adacoder--settings (length items)))

  (cl-defmethod eglot-handle-request ((_server adacoder-eglot-server) (_method (eql 'workspace/applyEdit)) &rest _)
    "Edit without a question, which a key meant for the text could answer."
    (let ((eglot-confirm-server-initiated-edits nil) ; until eglot 1.15
          (eglot-confirm-server-edits nil))
      (cl-call-next-method))))

(defun adacoder--eglot-contact (&rest _)
  "Return the class and the command line of the server for eglot."
  (list 'adacoder-eglot-server adacoder-program "serve"))

(defun adacoder--lsp-client ()
  "Return AdaCoder's client for lsp-mode."
  (let ((notified (make-hash-table :test #'equal)) (requested (make-hash-table :test #'equal)))
    (puthash "$/progress" (lambda (workspace params)
                            (adacoder--show-progress
                             workspace (adacoder--get params :token) (adacoder--get params :value)))
             notified)
    (puthash "window/showMessage" (lambda (_ params) (adacoder--say (adacoder--get params :message))) notified)
    (puthash "workspace/configuration"
             (lambda (_ params) (adacoder--settings (length (adacoder--get params :items))))
             requested)
    (make-lsp-client :new-connection (lsp-stdio-connection (lambda () (list adacoder-program "serve")))
                     :major-modes adacoder-modes
                     :add-on? t         ; beside another server
                     :server-id 'adacoder
                     :notification-handlers notified
                     :request-handlers requested)))

(defun adacoder--follow ()
  "Turn `adacoder-mode' on in a buffer of AdaCoder's server, else off."
  (let ((is-on (and (or (adacoder--eglot) (adacoder--lsp)) t)))
    (unless (eq is-on (bound-and-true-p adacoder-mode)) (adacoder-mode (if is-on 1 -1)))))

;;;###autoload
(defun adacoder-setup ()
  "Let eglot and lsp-mode start AdaCoder in `adacoder-modes'.
Also turn on `adacoder-mode' in the buffers of its server.  In eglot, which
has one server for each major mode, AdaCoder takes the place of another
server.  In lsp-mode, it is added to the other servers."
  (with-eval-after-load 'eglot
    (add-to-list 'eglot-server-programs (cons adacoder-modes #'adacoder--eglot-contact))
    (add-hook 'eglot-managed-mode-hook #'adacoder--follow))
  (with-eval-after-load 'lsp-mode
    (add-to-list 'lsp-language-id-configuration '(rst-mode . "restructuredtext") t)
    (lsp-register-client (adacoder--lsp-client))
    (dolist (hook '(lsp-after-open-hook lsp-managed-mode-hook)) (add-hook hook #'adacoder--follow))))


;;; Commands

(defun adacoder-generate ()
  "Write the function at point."
  (interactive)
  (adacoder--at-point "generate"))

(defun adacoder-generate-with-wish (wish)
  "Write the function at point with a WISH, such as \"use bisect\".
Nothing checks that the function follows the wish.  It holds for later
jobs on the function as well, until another wish, which may be empty."
  (interactive (list (read-string "Wish for this function: " nil 'adacoder-wish-history)))
  (when (> (length wish) 500) (user-error "The wish has %d characters: use at most 500" (length wish)))
  (adacoder--at-point "generate" :wish wish))

(defun adacoder-generate-all ()
  "Write all functions of this file that have no body yet."
  (interactive)
  (apply #'adacoder--execute "generateAll" (adacoder--document)))

(defun adacoder-fix ()
  "Fix the function at point."
  (interactive)
  (adacoder--at-point "fix"))

(defun adacoder-another ()
  "Ask for another candidate for the function at point.  It is kept."
  (interactive)
  (adacoder--at-point "another"))

(defun adacoder-check ()
  "Run the examples of the function at point."
  (interactive)
  (adacoder--at-point "check"))

(defun adacoder-suggest-examples ()
  "Let the model suggest examples for the function at point.  They are kept."
  (interactive)
  (adacoder--at-point "suggestExamples"))

(defun adacoder-cancel ()
  "Cancel all that AdaCoder is doing."
  (interactive)
  (when (seq-empty-p (adacoder--get (adacoder--execute "cancel") :cancelled))
    (adacoder--say "Nothing is running.")))

(defun adacoder--show (name text mode)
  "Show TEXT in the buffer NAME in MODE, and return the buffer."
  (let ((folder default-directory))
    (with-current-buffer (get-buffer-create name)
      (let ((inhibit-read-only t)) (erase-buffer) (insert text))
      (goto-char (point-min))
      (funcall mode)
      (setq buffer-read-only t default-directory folder)
      (display-buffer (current-buffer))
      (current-buffer))))

(defun adacoder-journal ()
  "Show the journal of the last job in this file."
  (interactive)
  (let ((journal (apply #'adacoder--execute "journal" :format "markdown" (adacoder--document))))
    (if journal
        (adacoder--show "*AdaCoder journal*" (adacoder--get journal :markdown) #'special-mode)
      (adacoder--say "No journal yet: generate, fix or check a function of this file first."))))

(defun adacoder--evidence (file items evidence)
  "Return lines about the ITEMS of FILE and their EVIDENCE for `compilation-mode'."
  (cl-flet* ((line (place kind &rest texts)
               (format "%s:%d: %s: %s\n" file (1+ (adacoder--get place :range :start :line)) kind (string-join texts)))
             (about (item)
               (cl-find (adacoder--get item :id) evidence :test #'equal :key (lambda (each) (adacoder--get each :id)))))
    (cl-loop for item across items
             for known = (about item)
             when known collect (line item "note" (adacoder--get known :evidence :summary)
                                      (if (eq (adacoder--get known :isCurrent) t) "" " (before the last change)"))
             nconc (cl-loop for example across (adacoder--get item :examples)
                            when (equal (adacoder--get example :state) "failed")
                            collect (line example "error" "failed: "
                                          (car (split-string (adacoder--get example :source) "\n")))))))

(define-derived-mode adacoder-evidence-mode compilation-mode "AdaCoder evidence"
  "Major mode for the list of evidence.
A key never runs the project's `compile-command' here.")
(define-key adacoder-evidence-mode-map "g" #'undefined)

(defun adacoder-evidence ()
  "List the evidence for the functions of this file, and their failed examples.
\\[next-error] goes to the next failed example."
  (interactive)
  (let* ((document (list :textDocument (adacoder--document)))
         (lines (adacoder--evidence (file-name-nondirectory buffer-file-name)
                                    (adacoder--get (adacoder--request "adacoder/examples" document) :items)
                                    (adacoder--get (adacoder--request "adacoder/evidence" document) :items))))
    (if lines
        (setq next-error-last-buffer (adacoder--show "*AdaCoder evidence*" (string-join lines) #'adacoder-evidence-mode))
      (adacoder--say "No evidence yet: check or generate a function of this file first."))))

(defun adacoder-kept ()
  "Insert or discard a kept result, or show it as a difference."
  (interactive)
  (let* ((items (adacoder--get (adacoder--request "adacoder/kept" (make-hash-table)) :items))
         (results (cl-loop for item across items
                           for number from 1
                           for path = (decode-coding-string (url-unhex-string (adacoder--get item :uri)) 'utf-8)
                           for title = (adacoder--get item :title)
                           collect (cons (format "%d %s: %s" number (file-name-nondirectory path) title)
                                         (adacoder--get item :jobId))))
         (chosen (completing-read "Result: " (or results (user-error "AdaCoder keeps no results")) nil t))
         (job (cdr (assoc chosen results))))
    (pcase (and job (completing-read "Insert, show or discard it: " '("insert" "show" "discard") nil t))
      ("insert" (adacoder--execute "insert" :jobId job))
      ("discard" (adacoder--execute "discard" :jobId job))
      ("show" (let ((answer (adacoder--execute "difference" :jobId job :show :json-false)))
                (if (adacoder--get answer :difference)
                    (adacoder--show "*AdaCoder difference*" (adacoder--get answer :difference) #'diff-mode)
                  (adacoder--say (adacoder--get answer :reason))))))))

;;;###autoload
(defun adacoder-doctor ()
  "Show what works here and how to fix the rest, for `adacoder-model'."
  (interactive)
  (let ((models (mapcan (lambda (model) (list "--model" model)) (ensure-list adacoder-model)))
        (process-connection-type nil))  ; a pipe, for which AdaCoder leaves out colours
    (compilation-start (mapconcat #'shell-quote-argument `(,adacoder-program "doctor" ,@models) " ")
                       nil (lambda (_) "*AdaCoder doctor*"))))


;;; Keys, menu and mode

(defvar adacoder-command-map
  (let ((map (make-sparse-keymap)))
    (pcase-dolist (`(,key . ,command)
                   '(("g" . adacoder-generate) ("w" . adacoder-generate-with-wish) ("G" . adacoder-generate-all)
                     ("f" . adacoder-fix) ("a" . adacoder-another) ("t" . adacoder-check)
                     ("s" . adacoder-suggest-examples) ("c" . adacoder-cancel) ("e" . adacoder-evidence)
                     ("k" . adacoder-kept) ("j" . adacoder-journal) ("d" . adacoder-doctor) ("m" . adacoder-menu)))
      (define-key map key command))
    map)
  "Keys of AdaCoder's commands, to be bound to a prefix.")
(fset 'adacoder-command-map adacoder-command-map)

;;;###autoload (autoload 'adacoder-menu "adacoder" nil t)
(transient-define-prefix adacoder-menu ()
  "Menu of AdaCoder's commands."
  [["Function at point"
    ("g" "Generate" adacoder-generate)
    ("w" "Generate with a wish" adacoder-generate-with-wish)
    ("f" "Fix" adacoder-fix)
    ("a" "Another candidate" adacoder-another)
    ("t" "Test its examples" adacoder-check)
    ("s" "Suggest examples" adacoder-suggest-examples)]
   ["File"
    ("G" "Generate all stubs" adacoder-generate-all)
    ("e" "Evidence" adacoder-evidence)
    ("j" "Journal" adacoder-journal)]
   ["AdaCoder"
    ("c" "Cancel" adacoder-cancel)
    ("k" "Kept results" adacoder-kept)
    ("d" "Doctor" adacoder-doctor)]])

(defun adacoder--lighter ()
  "Return the text of the mode line, with the progress of the latest job here."
  (let* ((server (or (adacoder--eglot) (adacoder--lsp)))
         (text (cdr (cl-find server adacoder--progress :key #'caar)))
         (text (and text (string-replace "\n" " " text))))
    (concat " AdaCoder"
            (and text (string-replace "%" "%%" (format "[%s]" (truncate-string-to-width text 40 nil nil t)))))))

;;;###autoload
(define-minor-mode adacoder-mode
  "Keys for AdaCoder's commands, and its progress in the mode line."
  :lighter (:eval (adacoder--lighter))
  :keymap (list (cons (kbd "C-c \"") 'adacoder-command-map)))

(provide 'adacoder)
;;; adacoder.el ends here
