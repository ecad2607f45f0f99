-- Drives a real Neovim: opens a file, asks for code actions on the function under the cursor, takes AdaCoder's, waits
-- for the edit, saves, and undoes it in one step. Environment: ADACODER_FILE, ADACODER_LINE, ADACODER_SERVER (the
-- command, words split at spaces), ADACODER_SETTINGS (JSON), ADACODER_CONFIG (the README's Lua, for 0.11 and later).
local env = vim.env

local function say(message) io.stdout:write(message .. '\n') end
local function check(condition, message)
  if not condition then error(message, 0) end
  say('ok ' .. message)
end
local function text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') end

local function start_client(command, settings)
  if vim.lsp.config then
    vim.cmd('luafile ' .. vim.fn.fnameescape(env.ADACODER_CONFIG))
    vim.lsp.config('adacoder', { cmd = command, settings = settings })
    vim.bo.filetype = 'python'
    return
  end
  local id = vim.lsp.start_client({
    name = 'adacoder', cmd = command, settings = settings, root_dir = vim.fn.fnamemodify(env.ADACODER_FILE, ':h'),
    -- Such an old Neovim does not say that it can be asked for its settings; nvim-lspconfig sends them, as here.
    on_init = function(client) client.notify('workspace/didChangeConfiguration', { settings = settings }) end,
  })
  vim.lsp.buf_attach_client(0, id)
end

local function run()
  vim.cmd('edit ' .. vim.fn.fnameescape(env.ADACODER_FILE))
  local decode = vim.json and vim.json.decode or vim.fn.json_decode
  start_client(vim.split(env.ADACODER_SERVER, ' '), decode(env.ADACODER_SETTINGS))
  local get_clients = vim.lsp.get_clients or vim.lsp.buf_get_clients
  check(vim.wait(20000, function()
    for _, client in pairs(get_clients()) do
      if client.server_capabilities and client.server_capabilities.codeActionProvider then return true end
    end
    return false
  end, 50), 'the server offers code actions')

  local offered = {}
  vim.ui.select = function(items, options, choose)
    for index, item in ipairs(items) do
      local title = options.format_item(item)
      offered[#offered + 1] = title
      if title:find('AdaCoder: generate function', 1, true) then return choose(item, index) end
    end
  end
  local before = text()
  vim.api.nvim_win_set_cursor(0, { tonumber(env.ADACODER_LINE), 4 })
  vim.lsp.buf.code_action()
  check(vim.wait(30000, function() return text() ~= before end, 50),
    'the code action wrote the function; offered: ' .. table.concat(offered, ' | '))
  vim.cmd('silent write')
  vim.cmd('silent undo')
  check(text() == before, 'one undo takes it back')
  vim.cmd('silent edit!')
end

local ok, problem = xpcall(run, debug.traceback)
if not ok then
  say('FAILED ' .. tostring(problem))
  vim.cmd('cquit 1')
end
vim.cmd('qall!')
