--- AdaCoder in Neovim: starts `adacoder serve` and shows its messages, progress, lenses and replies.
local M = {}

local DEFAULTS = {
  cmd = { 'adacoder' },
  filetypes = { 'python' },
  root_markers = { 'pyproject.toml', '.git' },
  settings = {},
  keymaps = '<leader>a',
  codelens = true,
  writing = true,
}
--- The options of `setup`; see |adacoder-options|.
M.options = vim.deepcopy(DEFAULTS)
--- The running clients by id.
M.clients = {}
--- The latest message, uncut.
M.message = nil

local jobs = {} -- with progress, in the order in which they began
local started = {} -- before Neovim 0.8: the ids of clients by their roots

--- Returns whether this is at least Neovim `version`, such as '0.11'.
function M.has(version) return vim.fn.has('nvim-' .. version) == 1 end

--- Shows a message in one line, so that nobody has to press ENTER. `:AdaCoder message` shows it uncut.
function M.notify(message, is_warning)
  M.message = message
  local line = vim.fn.printf('%.' .. vim.v.echospace .. 'S', (message:gsub('%s*\n%s*', ' ')))
  vim.notify(line, is_warning and vim.log.levels.WARN or vim.log.levels.INFO)
end

--- Returns the latest job with its progress, for the status line. Returns '' if no job is running.
function M.status()
  local job = jobs[#jobs]
  if not job then return '' end
  local others = #jobs > 1 and (' (+%d)'):format(#jobs - 1) or ''
  return job.title .. (job.message and ' · ' .. job.message or '') .. others
end

--- Calls a client's method. Before Neovim 0.11, the methods do not take the client.
function M.call(client, method, ...)
  if M.has('0.11') then return client[method](client, ...) end
  return client[method](...)
end

--- Sends the settings. They are pushed, because Neovim 0.7 cannot be asked for them.
function M.configure(client)
  local settings = next(M.options.settings) and M.options.settings or vim.empty_dict()
  M.call(client, 'notify', 'workspace/didChangeConfiguration', { settings = { adacoder = settings } })
end

local function drop(is_meant)
  jobs = vim.tbl_filter(function(job) return not is_meant(job) end, jobs)
  vim.cmd('redrawstatus')
end

local function on_progress(problem, params, context, ...)
  local value = params.value
  local function is_same(job) return job.client == context.client_id and job.token == params.token end
  if value.kind == 'begin' then
    table.insert(jobs, { client = context.client_id, token = params.token, title = value.title })
  end
  for _, job in ipairs(jobs) do
    if is_same(job) then job.message = value.message or job.message end
  end
  drop(function(job) return value.kind == 'end' and is_same(job) end)
  return vim.lsp.handlers['$/progress'](problem, params, context, ...)
end

local HANDLERS = {
  ['$/progress'] = on_progress,
  ['window/showMessage'] = function(_, params) M.notify(params.message, params.type < 3) end,
  ['adacoder/writing'] = function(_, params) require('adacoder.writing').show(params) end,
}
if not vim.lsp.codelens.enable then -- before Neovim 0.12
  HANDLERS['workspace/codeLens/refresh'] = function()
    vim.lsp.codelens.refresh()
    return vim.NIL
  end
end

local function on_attach(client, bufnr)
  local options = M.options
  if options.keymaps then require('adacoder.commands').map(bufnr, options.keymaps) end
  if options.settings.inlayHints and vim.lsp.inlay_hint then vim.lsp.inlay_hint.enable(true, { bufnr = bufnr }) end
  if not options.codelens then return end
  if vim.lsp.codelens.enable then return vim.lsp.codelens.enable(true, { bufnr = bufnr }) end
  vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave', 'CursorHold' }, {
    group = vim.api.nvim_create_augroup('adacoder' .. bufnr, {}),
    buffer = bufnr,
    callback = function()
      if M.clients[client.id] then vim.lsp.codelens.refresh({ bufnr = bufnr }) end
    end,
  })
end

local function on_exit(_, _, id)
  M.clients[id] = nil
  for root in pairs(started) do
    if started[root] == id then started[root] = nil end
  end
  drop(function(job) return job.client == id end)
  require('adacoder.writing').clear()
end

--- Returns the nearest folder that has a marker, or nil. Earlier markers come first.
local function root_of(file)
  for _, marker in ipairs(M.options.root_markers) do
    local folder, inner = vim.fn.fnamemodify(file, ':p:h'), nil
    while folder ~= inner do
      if (vim.uv or vim.loop).fs_stat(folder .. '/' .. marker) then return folder end
      folder, inner = vim.fn.fnamemodify(folder, ':h'), folder
    end
  end
end

local function start(bufnr)
  local options, file = M.options, vim.api.nvim_buf_get_name(bufnr)
  if file == '' or file:match('^%a[%w+.-]*://') or vim.bo[bufnr].buftype ~= '' then return end
  if vim.fn.executable(options.cmd[1]) == 0 then
    return M.notify(("'%s' is not installed: see :checkhealth adacoder."):format(options.cmd[1]), true)
  end
  local config = {
    name = 'adacoder',
    cmd = vim.list_extend(vim.list_slice(options.cmd), { 'serve' }),
    root_dir = root_of(file),
    capabilities = vim.tbl_deep_extend('force', vim.lsp.protocol.make_client_capabilities(), {
      workspace = { codeLens = { refreshSupport = options.codelens } },
      experimental = { adacoder = { writing = options.writing } },
    }),
    handlers = HANDLERS,
    commands = require('adacoder.commands').of_server,
    on_init = function(client)
      M.clients[client.id] = client
      M.configure(client)
    end,
    on_attach = on_attach,
    on_exit = vim.schedule_wrap(on_exit),
  }
  if vim.lsp.start then
    vim.api.nvim_buf_call(bufnr, function() vim.lsp.start(config) end)
  else
    local root = config.root_dir or ''
    started[root] = started[root] or vim.lsp.start_client(config)
    vim.lsp.buf_attach_client(bufnr, started[root])
  end
end

--- Starts AdaCoder for the buffers with `filetypes`, and defines `:AdaCoder`. `options` override the defaults.
function M.setup(options)
  if not M.has('0.7') then error('AdaCoder needs Neovim 0.7 or later', 0) end
  for name in pairs(options or {}) do
    if DEFAULTS[name] == nil then
      M.notify(("AdaCoder has no option '%s': see :help adacoder-options."):format(name), true)
    end
  end
  M.options = vim.deepcopy(vim.tbl_extend('force', DEFAULTS, options or {}))
  require('adacoder.commands').define()
  vim.api.nvim_create_autocmd('FileType', {
    group = vim.api.nvim_create_augroup('adacoder', {}),
    pattern = M.options.filetypes,
    callback = function(event) start(event.buf) end,
  })
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    local is_ours = vim.tbl_contains(M.options.filetypes, vim.bo[bufnr].filetype)
    if is_ours and vim.api.nvim_buf_is_loaded(bufnr) then start(bufnr) end
  end
end

return M
