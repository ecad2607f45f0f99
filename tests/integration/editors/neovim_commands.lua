-- Drives a real Neovim through the commands and keys of the plug-in. Prints a line for what holds. The files are in the
-- current folder. Environment: ADACODER_PERSON, the file with the functions.
local person = dofile(vim.env.ADACODER_PERSON)
local check, text, wait, press, open = person.check, person.text, person.wait, person.press, person.open
local adacoder = require('adacoder')

local function command(line)
  person.forget()
  vim.cmd('AdaCoder ' .. line)
end
local function goto_line(wanted) check(vim.fn.search(wanted, 'w') > 0, 'the cursor is on ' .. wanted) end
local function wait_for_message(wanted)
  wait(function() return person.notified and person.notified:find(wanted, 1, true) end, 'a message says: ' .. wanted)
  check(vim.fn.strdisplaywidth(person.notified) <= vim.v.echospace, 'in one line, so nobody has to press ENTER')
end
local function save() vim.cmd('silent write') end

local function floating()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= '' then return window end
  end
end
local function wait_for_float(wanted)
  wait(function()
    local lines = floating() and vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(floating()), 0, -1, false) or {}
    return table.concat(lines, '\n'):find(wanted, 1, true)
  end, 'a window shows: ' .. wanted)
  vim.api.nvim_win_close(floating(), true)
end

-- Chooses the entries with these texts, one after another.
local function will_choose(...)
  local answers = { ... }
  vim.ui.select = function(items, options, choose)
    local wanted = table.remove(answers, 1)
    for index, item in ipairs(items) do
      local title = (options.format_item or tostring)(item)
      if wanted and title:find(wanted, 1, true) then return choose(item, index) end
    end
    choose(nil)
  end
end

local function growing()
  local namespace = vim.api.nvim_get_namespaces()['adacoder.writing']
  local rows = {}
  for _, mark in ipairs(namespace and vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true }) or {}) do
    for _, row in ipairs(mark[4].virt_lines) do rows[#rows + 1] = row[1][1] end
  end
  return table.concat(rows, '\n')
end

local flows = {}

flows[1] = function()
  check(vim.fn.exists(':AdaCoder') == 2, 'the package defines the command')
  local offered = vim.fn.getcompletion('AdaCoder gen', 'cmdline')
  check(vim.deep_equal(offered, { 'generate', 'generate-all' }), 'its subcommands are completed')
  check(#vim.fn.getcompletion('AdaCoder wish gen', 'cmdline') == 0, 'but not a wish')
  command('write')
  wait_for_message("no command 'write'")
  command('generate')
  wait_for_message('AdaCoder does not run in this buffer')
  command('message')
  wait_for_float(':checkhealth adacoder.')
  vim.cmd('help adacoder-options')
  check(vim.fn.expand('%:t') == 'adacoder.txt', 'the help is installed')
  vim.cmd('helpclose')
end

flows[2] = function()
  open('written.py')
  local before = text()
  command('journal')
  wait_for_message('No journal yet')
  command('evidence')
  wait_for_message('No evidence here')
  command('kept')
  wait_for_message('No results are kept')
  command('generate')
  wait_for_message("Inserted 'written'")
  save()
  wait(function() return growing() == '' end, 'the growing reply is hidden')
  vim.cmd('silent undo')
  check(text() == before, 'one undo takes it back')
  vim.cmd('silent redo')
  vim.cmd('$') -- in the body, where no hover is
  command('evidence')
  wait_for_float('2/2')
  command('journal')
  wait_for_float('written')
  vim.cmd('doautocmd CursorHold')
  wait(function()
    local lens = vim.lsp.codelens.get(0)[1]
    return lens and lens.command.title:find('2/2', 1, true)
  end, 'the lens shows the evidence')
  vim.cmd('1')
  command('lens')
  wait_for_float('written')
end

flows[3] = function()
  open('wished.py')
  local asked
  vim.ui.input = function(options, answer)
    asked = options.prompt
    answer(nil)
  end
  command('wish')
  check(asked and not person.seen.begin, 'without a text it asks for the wish, and can be given up')
  command('wish use join, please')
  wait_for_message("Inserted 'wished'")
  save()
end

flows[4] = function()
  open('all.py')
  command('generate-all')
  wait(function() return text():find('upper.*upper') end, 'both functions are written')
  wait_for_message('2')
  save()
end

flows[5] = function()
  open('wrong.py')
  command('failures')
  wait_for_message('No example is known to fail')
  command('check-all')
  wait_for_message('Checked the file: 1 of 2 failed. See :AdaCoder failures.')
  wait(function() return #vim.diagnostic.get(0) == 2 end, 'the failed examples have diagnostics')
  command('failures')
  local list = vim.fn.getqflist()
  check(#list == 2 and list[1].lnum == 4 and list[2].lnum == 6, 'they are in the quickfix list')
  check(vim.bo.buftype == 'quickfix', 'which is open')
  vim.cmd('cclose')
  vim.cmd('2')
  command('evidence')
  wait_for_float("'ada lovelace'")
  goto_line('def right')
  command('check')
  wait_for_message("Checked 'right'")
  goto_line('def wrong')
  command('fix')
  wait_for_message("Inserted 'wrong'")
  save()
end

flows[6] = function()
  open('other.py')
  local before = text()
  command('another')
  wait_for_message('kept')
  will_choose("'other'", 'Show difference')
  command('kept')
  wait_for_float('+    return "".join([word')
  vim.cmd('doautocmd CursorHold')
  wait(function() return #vim.lsp.codelens.get(0) >= 3 end, 'lenses show, insert and discard it')
  vim.cmd('1')
  will_choose('Show')
  command('lens')
  wait_for_float('+    return "".join([word')
  will_choose("'other'", 'Insert')
  command('kept')
  wait(function() return text() ~= before end, 'the kept candidate is inserted')
  wait_for_message("Inserted 'other'")
  save()
end

flows[7] = function()
  open('shout.py')
  local before = text()
  command('generate')
  wait_for_message('is kept')
  will_choose("'shout'", 'Discard')
  command('kept')
  wait(function()
    command('kept')
    vim.wait(100)
    return person.notified
  end, 'the result is discarded')
  wait_for_message('No results are kept')
  command('suggest')
  wait_for_message('kept')
  will_choose("'shout'", 'Insert')
  command('kept')
  wait(function() return text() ~= before end, 'the suggested examples are inserted')
  save()
end

flows[8] = function()
  open('forever.py')
  local before = text()
  command('generate')
  wait(function() return growing():find('initials = [', 1, true) end, 'the reply is shown while it grows')
  check(adacoder.status():find("'forever'", 1, true), 'the status names the job: ' .. adacoder.status())
  check(text() == before, 'and the text is as it was')
  press('O# typed')
  check(growing():find('initials = [', 1, true), 'the reply stays while somebody types')
  vim.cmd('silent undo')
  vim.cmd('new') -- another window
  command('cancel')
  wait(function() return person.seen['end'] end, 'it is cancelled from anywhere')
  vim.cmd('quit')
  wait(function() return growing() == '' and adacoder.status() == '' end, 'nothing is shown any more')
  adacoder.setup({ nonsense = 1 })
  wait_for_message("no option 'nonsense'")
end

flows[9] = function()
  open('chosen.py')
  will_choose('ollama:tiny:1b')
  command('model')
  wait_for_message('ollama:tiny:1b')
  command('generate')
  wait_for_message("Inserted 'chosen'")
  save()
  command('model ollama:none')
  wait_for_message('ollama:none')
  will_choose('Automatic')
  command('model')
  wait_for_message('automatic')
end

flows[10] = function()
  local function maps(prefix) return vim.fn.maparg(prefix .. 'g', 'n', false, true).desc end
  check(maps('\\a') == 'AdaCoder: generate', 'the keys are mapped')
  vim.keymap.set('n', '\\bg', 'x')
  vim.keymap.set('n', '\\bff', function() end)
  adacoder.setup({ keymaps = '\\b' })
  open('keys.py')
  check(maps('\\b') == nil and vim.fn.maparg('\\bf', 'n') == '', 'maps of the user stay, and longer ones')
  check(vim.fn.maparg('\\bj', 'n', false, true).desc == 'AdaCoder: journal', 'the other keys are there')
  check(maps('\\a') == nil, 'without the default prefix')
  adacoder.setup({ keymaps = false })
  open('keyless.py')
  check(vim.fn.maparg('\\bj', 'n') == '', 'the keys can be switched off')
end

flows[11] = function()
  open('forever.py')
  command('generate')
  wait(function() return growing() ~= '' and adacoder.status() ~= '' end, 'a job is running')
  for _, process in ipairs(vim.api.nvim_get_proc_children(vim.fn.getpid())) do vim.loop.kill(process, 'sigkill') end
  wait(function() return not next(adacoder.clients) end, 'the server crashes')
  check(growing() == '' and adacoder.status() == '', 'nothing of the job is shown any more')
  command('check')
  wait_for_message('AdaCoder does not run in this buffer')
  vim.cmd('edit')
  wait(function() return next(adacoder.clients) end, 'editing the file again starts it again')
  command('generate')
  wait(function() return growing() ~= '' end, 'and its reply is shown')
  command('cancel')
  wait(function() return person.seen['end'] end, 'until it is cancelled')
end

flows[12] = function()
  person.forget()
  adacoder.setup({ cmd = { 'nowhere' } })
  wait_for_message("'nowhere' is not installed")
  adacoder.setup({
    cmd = { 'env', 'adacoder' },
    filetypes = { 'python', 'markdown' },
    root_markers = { 'here' },
    settings = { inlayHints = true },
    codelens = false,
    writing = false,
  })
  open('inner/forever.py')
  local root
  for id, client in pairs(adacoder.clients) do
    if vim.lsp.buf_is_attached(0, id) then root = client.config.root_dir end
  end
  check(vim.endswith(root, '/inner'), 'the marker names the workspace: ' .. root)
  command('generate')
  wait(function() return adacoder.status():find('writing', 1, true) end, 'a job is running: ' .. adacoder.status())
  vim.wait(300)
  check(growing() == '', 'its reply is not shown')
  command('cancel')
  wait(function() return person.seen['end'] end, 'it is cancelled')
  vim.cmd('doautocmd CursorHold')
  vim.wait(300)
  check(#vim.lsp.codelens.get(0) == 0, 'and no lenses are shown')
  open('inner/hinted.py')
  command('check')
  wait_for_message("Checked 'hinted'")
  if vim.lsp.inlay_hint then
    wait(function() return #vim.lsp.inlay_hint.get({ bufnr = 0 }) == 2 end, 'hints show what came instead')
  end
  vim.cmd('edit inner/page.md')
  vim.bo.filetype = 'markdown'
  wait(function()
    command('check')
    vim.wait(100)
    return person.notified and person.notified:find("Checked 'page.md'", 1, true)
  end, 'a page is checked')
end

person.run(flows)
