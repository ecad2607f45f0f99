"""What `source/splice.py` is made of.

`signature` and `rename` put a candidate into the target's words, `quotes` into the file's. `brought` says what comes
along, `helpers` under which names, `around` what is there already. `layout` says where it goes, `import_block` and
`import_names` how imports join the file's own. `inner` is for a function that can only go in whole.
"""
