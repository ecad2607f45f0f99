-- Drives a real Neovim through what a person does, a function a flow, each in a file of its own. Prints a line for what
-- holds; the first thing that does not ends it. Environment: ADACODER_CONFIG (the Lua of docs/editors.md for this
-- Neovim). The files are in the current folder.
local env = vim.env

local function say(message) io.stdout:write(message .. '\n') end
local function check(condition, message)
  if not condition then error(message, 0) end
  say('ok ' .. message)
end
local function text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') end
local function wait(condition, message) check(vim.wait(30000, condition, 20), message) end
-- What a person does is a step of its own to undo. In a script, only this makes one.
local function end_undo_step() vim.cmd('let &undolevels = &undolevels') end
local function press(keys)
  vim.api.nvim_feedkeys(keys, 'x', false)
  end_undo_step()
end

-- What the person sees of progress: the kinds that came since the last action was taken, and the status line.
local seen, shown = {}, ''
local function watch_progress()
  local usual = vim.lsp.handlers['$/progress']
  vim.lsp.handlers['$/progress'] = function(problem, result, ...)
    seen[result.value.kind] = true
    local answer = usual(problem, result, ...)
    vim.schedule(function()
      local now = vim.g.lsp_progress or ''
      if now ~= '' then shown = now end
    end)
    return answer
  end
end

local notified
local function watch_messages()
  vim.notify = function(message) notified = message end
end

local function open(file)
  vim.cmd('edit ' .. file)
  vim.bo.filetype = 'python'
  local get_clients = vim.lsp.get_clients or vim.lsp.buf_get_clients
  wait(function()
    for _, client in pairs(get_clients(vim.lsp.get_clients and { bufnr = 0 } or 0)) do -- those of this file
      if client.server_capabilities and client.server_capabilities.codeActionProvider then return true end
    end
    return false
  end, file .. ': the server offers code actions')
end

-- Asks for code actions at the docstring, and takes the one whose title holds `wanted`.
local function take(wanted)
  local offered, chosen = {}, false
  vim.ui.select = function(items, options, choose)
    for index, item in ipairs(items) do
      local title = options.format_item(item)
      offered[#offered + 1] = title
      if not chosen and title:find(wanted, 1, true) then
        chosen = true
        choose(item, index)
      end
    end
  end
  seen = {}
  vim.fn.search('"""')
  vim.lsp.buf.code_action()
  wait(function() return #offered > 0 end, 'code actions are offered')
  check(chosen, 'one is "' .. wanted .. '" of: ' .. table.concat(offered, ' | '))
end

local flows = {}

flows[1] = function()
  open('initials.py')
  local before = text()
  take('AdaCoder: generate function')
  wait(function() return text() ~= before end, 'the function is written')
  wait(function() return notified end, 'a message is shown')
  check(notified:find("Inserted 'initials'", 1, true) == 1, 'and says what was done: ' .. notified)
  if vim.lsp.config then
    wait(function()
      local lens = vim.lsp.codelens.get(0)[1]
      return lens and lens.command.title:find('2/2', 1, true)
    end, 'the lens shows the result, although nobody has moved the cursor')
  end
  vim.cmd('silent write')
  vim.cmd('silent undo')
  check(text() == before, 'one undo takes it back')
  vim.cmd('silent edit!')
  wait(function() return seen['end'] end, 'progress has ended')
  check(seen.begin and seen.report, 'progress was seen')
  check(shown:find('initials', 1, true), 'the status line showed: ' .. shown)
end

flows[2] = function()
  open('forever.py')
  local before = text()
  take('AdaCoder: generate function')
  wait(function() return seen.report end, 'it runs')
  vim.wait(300)
  check(not seen['end'], 'and goes on')
  press('\\ac')
  wait(function() return seen['end'] end, 'its key cancels it')
  check(text() == before, 'and the text is as it was')
end

flows[3] = function()
  open('slowly.py')
  local before = text()
  take('AdaCoder: generate function')
  wait(function() return seen.report end, 'it runs')
  press('ggOB = "typed meanwhile"')
  local typed = 'B = "typed meanwhile"\n' .. before
  check(text() == typed and not seen['end'], 'typing goes on while it runs')
  wait(function() return seen['end'] end, 'it ends')
  wait(function() return text() ~= typed end, 'the function is written')
  check(text():sub(1, #typed) == typed, 'and nothing that was typed is lost')
  vim.cmd('silent write')
end

flows[4] = function()
  open('shout.py')
  local before = text()
  take('AdaCoder: generate function')
  wait(function() return seen['end'] end, 'it ends')
  wait(function() return notified and notified:find('is kept', 1, true) end, 'a message says that the result is kept')
  check(vim.fn.strdisplaywidth(notified) <= vim.v.echospace, 'in one line, so nobody has to press ENTER')
  press('ggOy = 1')
  local typed = 'y = 1\n' .. before
  vim.wait(300)
  check(text() == typed, 'what has no examples is not inserted, whatever is typed then')
  take("Insert AdaCoder's result for 'shout' (unverified)")
  wait(function() return text() ~= typed end, 'what was kept is inserted by the action')
  wait(function() return seen['end'] end, 'and that ends')
  vim.cmd('silent write')
  vim.cmd('silent undo')
  check(text() == typed, 'one undo takes it back')
  vim.cmd('silent edit!')
end

flows[5] = function()
  open('edited.py')
  take('AdaCoder: generate function')
  wait(function() return seen.report end, 'it runs')
  press('ggjA Please.')
  local typed = text()
  check(typed:find('capitals. Please.', 1, true) and not seen['end'], 'somebody types in the function while it runs')
  wait(function() return seen['end'] end, 'it ends')
  vim.wait(300)
  check(text() == typed, 'the text is left as it was typed')
  take("Insert AdaCoder's result for 'edited' (2/2 examples)")
  wait(function() return text() ~= typed end, 'the result was kept, and is inserted')
  check(text():sub(1, #typed) == typed, 'below what was typed')
  vim.cmd('silent write')
end

flows[6] = function()
  open('asking/asked.py')
  take('AdaCoder: generate function')
  wait(function()
    for _, each in ipairs(vim.diagnostic.get(0)) do
      if each.code == 'differs' then return each.message:find("asked('a') gives 'A'", 1, true) ~= nil end
    end
    return false
  end, 'a question about an output is shown')
  local before = text()
  end_undo_step()
  take("'A' is right: add it as an example")
  wait(function() return text():find(">>> asked('a')\n    'A'", 1, true) ~= nil end, 'the answer is an example')
  vim.cmd('silent write')
  vim.cmd('silent undo')
  check(text() == before, 'one undo takes it back')
  vim.cmd('silent edit!')
end

local function run()
  vim.g.mapleader = '\\'
  watch_progress()
  watch_messages()
  vim.cmd('luafile ' .. vim.fn.fnameescape(env.ADACODER_CONFIG))
  for _, flow in ipairs(flows) do flow() end
end

local ok, problem = xpcall(run, debug.traceback)
if not ok then
  say('FAILED ' .. tostring(problem))
  vim.cmd('cquit 1')
end
vim.cmd('qall!')
