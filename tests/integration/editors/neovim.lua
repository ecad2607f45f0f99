-- Drives a real Neovim through what a person does with code actions, a function a flow, each in a file of its own.
-- Prints a line for what holds. The files are in the current folder. Environment: ADACODER_PERSON, the file with the
-- functions.
local person = dofile(vim.env.ADACODER_PERSON)
local check, text, wait, press, open = person.check, person.text, person.wait, person.press, person.open
local end_undo_step = person.end_undo_step

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
  person.forget()
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
  wait(function() return person.notified end, 'a message is shown')
  check(person.notified:find("Inserted 'initials'", 1, true) == 1, 'and says what was done: ' .. person.notified)
  wait(function()
    local lens = vim.lsp.codelens.get(0)[1]
    return lens and lens.command.title:find('2/2', 1, true)
  end, 'the lens shows the result, although nobody has moved the cursor')
  vim.cmd('silent write')
  vim.cmd('silent undo')
  check(text() == before, 'one undo takes it back')
  vim.cmd('silent edit!')
  wait(function() return person.seen['end'] end, 'progress has ended')
  check(person.seen.begin and person.seen.report, 'progress was seen')
  check(person.shown:find('initials', 1, true), 'the status line showed: ' .. person.shown)
end

flows[2] = function()
  open('forever.py')
  local before = text()
  take('AdaCoder: generate function')
  wait(function() return person.seen.report end, 'it runs')
  vim.wait(300)
  check(not person.seen['end'], 'and goes on')
  press('\\ac')
  wait(function() return person.seen['end'] end, 'its key cancels it')
  check(text() == before, 'and the text is as it was')
end

flows[3] = function()
  open('slowly.py')
  local before = text()
  take('AdaCoder: generate function')
  wait(function() return person.seen.report end, 'it runs')
  press('ggOB = "typed meanwhile"')
  local typed = 'B = "typed meanwhile"\n' .. before
  check(text() == typed and not person.seen['end'], 'typing goes on while it runs')
  wait(function() return person.seen['end'] end, 'it ends')
  wait(function() return text() ~= typed end, 'the function is written')
  check(text():sub(1, #typed) == typed, 'and nothing that was typed is lost')
  vim.cmd('silent write')
end

flows[4] = function()
  open('shout.py')
  local before = text()
  take('AdaCoder: generate function')
  wait(function() return person.seen['end'] end, 'it ends')
  wait(function() return person.notified and person.notified:find('is kept', 1, true) end, 'a message says so')
  check(vim.fn.strdisplaywidth(person.notified) <= vim.v.echospace, 'in one line, so nobody has to press ENTER')
  press('ggOy = 1')
  local typed = 'y = 1\n' .. before
  vim.wait(300)
  check(text() == typed, 'what has no examples is not inserted, whatever is typed then')
  take("Insert AdaCoder's result for 'shout' (unverified)")
  wait(function() return text() ~= typed end, 'what was kept is inserted by the action')
  wait(function() return person.seen['end'] end, 'and that ends')
  vim.cmd('silent write')
  vim.cmd('silent undo')
  check(text() == typed, 'one undo takes it back')
  vim.cmd('silent edit!')
end

flows[5] = function()
  open('edited.py')
  take('AdaCoder: generate function')
  wait(function() return person.seen.report end, 'it runs')
  press('ggjA Please.')
  local typed = text()
  check(typed:find('capitals. Please.', 1, true) and not person.seen['end'], 'somebody types there while it runs')
  wait(function() return person.seen['end'] end, 'it ends')
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

person.run(flows)
