--- `:checkhealth adacoder`
local M = {}

local adacoder = require('adacoder')

-- Before Neovim 0.8, `vim.health` is called `health`; before 0.10, its functions begin with `report_`.
local function tell(kind, ...)
  local health = vim.health or require('health')
  return (health[kind] or health['report_' .. kind])(...)
end

local function version()
  if not adacoder.has('0.7') then return tell('error', 'Neovim is too old: AdaCoder needs 0.7 or later') end
  local now = vim.version()
  tell('ok', ('Neovim %d.%d.%d'):format(now.major, now.minor, now.patch))
  if not adacoder.has('0.10') then tell('info', 'The setting inlayHints has no effect: it needs Neovim 0.10') end
end

--- Returns the findings of a server, which knows the settings of `setup` and of its project.
local function of_server(client)
  local root = client.config.root_dir
  tell('start', 'AdaCoder in ' .. (root and vim.fn.fnamemodify(root, ':~') or 'files without a project'))
  tell('info', 'As the running server sees it, with your settings')
  local params = { command = 'adacoder.server.doctor', arguments = { { probe = false } } }
  local answer = adacoder.call(client, 'request_sync', 'workspace/executeCommand', params, 60000, 0)
  return answer and answer.result and answer.result.findings, 'The server does not answer'
end

local function of_command_line()
  tell('info', 'No server is running: open a Python file first to include the settings of setup()')
  local command = vim.list_extend(vim.list_slice(adacoder.options.cmd), { 'doctor', '--json', '--no-probe' })
  local said = vim.fn.systemlist(command)
  for _, line in ipairs(said) do
    local ok, answer = pcall(vim.fn.json_decode, line)
    if ok and type(answer) == 'table' and answer.findings then return answer.findings end
  end
  return nil, table.concat(said, ' ')
end

local function report(found, problem)
  if not found then return tell('error', ('%s doctor failed: %s'):format(adacoder.options.cmd[1], problem)) end
  for _, each in ipairs(found) do
    local has_advice = each.advice ~= ''
    local kind = each.ok == false and 'error' or has_advice and 'warn' or each.ok == true and 'ok' or 'info'
    tell(kind, each.name .. ': ' .. each.text, has_advice and { each.advice } or nil)
  end
end

function M.check()
  tell('start', 'AdaCoder')
  version()
  local program = adacoder.options.cmd[1]
  local path = vim.fn.exepath(program)
  if path == '' then
    return tell('error', ("'%s' is not an executable program"):format(program), {
      'Install AdaCoder (pip install PATH-OF-THE-REPOSITORY), or name the program: setup({ cmd = { PATH } })',
    })
  end
  tell('ok', ("'%s' is %s"):format(program, path))
  local ids = vim.tbl_keys(adacoder.clients)
  table.sort(ids)
  if #ids == 0 then return report(of_command_line()) end
  for _, id in ipairs(ids) do
    report(of_server(adacoder.clients[id]))
  end
end

return M
