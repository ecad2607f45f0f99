-- What a person does in Neovim, and what they see. The scripts with flows use this: `dofile` returns these functions.
local M = {}

function M.say(message) io.stdout:write(message .. '\n') end
function M.check(condition, message)
  if not condition then error(message, 0) end
  M.say('ok ' .. message)
end
function M.text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') end
function M.wait(condition, message) M.check(vim.wait(30000, condition, 20), message) end
-- What a person does is a step of its own to undo. In a script, only this makes one.
function M.end_undo_step() vim.cmd('let &undolevels = &undolevels') end
function M.press(keys)
  vim.api.nvim_feedkeys(keys, 'x', false)
  M.end_undo_step()
end

-- What the person sees: the kinds of progress since `forget`, the status line, and the last message.
M.seen, M.shown, M.notified = {}, '', nil
function M.forget() M.seen, M.notified = {}, nil end
local function watch()
  local usual = vim.lsp.handlers['$/progress']
  vim.lsp.handlers['$/progress'] = function(problem, result, ...)
    M.seen[result.value.kind] = true
    if result.value.kind == 'report' then M.shown = vim.api.nvim_eval_statusline(vim.o.statusline, {}).str end
    return usual(problem, result, ...)
  end
  vim.notify = function(message) M.notified = message end
end

function M.open(file)
  vim.cmd('edit ' .. file)
  vim.bo.filetype = 'python'
  local get_clients = vim.lsp.get_clients or vim.lsp.buf_get_clients
  M.wait(function()
    for _, client in pairs(get_clients(vim.lsp.get_clients and { bufnr = 0 } or 0)) do -- those of this file
      if client.server_capabilities and client.server_capabilities.codeActionProvider then return true end
    end
    return false
  end, file .. ': the server offers code actions')
end

-- Runs the flows, and ends Neovim. The first thing that does not hold ends it with exit code 1.
function M.run(flows)
  local ok, problem = xpcall(function()
    watch()
    for _, flow in ipairs(flows) do flow() end
  end, debug.traceback)
  if not ok then
    M.say('FAILED ' .. tostring(problem))
    vim.cmd('cquit 1')
  end
  vim.cmd('qall!')
end

return M
