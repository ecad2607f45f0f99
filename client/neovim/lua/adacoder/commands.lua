--- The subcommands of `:AdaCoder`, and their keys. They act on the function under the cursor.
local M = {}

local adacoder = require('adacoder')
local SERVER = 'adacoder.server.'
local JOURNAL = 'source.adacoder.journal'
local NOT_OF_EXAMPLES = { unreached = true, differs = true } -- codes of other diagnostics

local function request(client, method, params, use)
  adacoder.call(client, 'request', method, params, function(problem, result)
    if problem then return adacoder.notify(problem.message, true) end
    if use then use(result) end
  end, vim.api.nvim_get_current_buf())
end

local function execute(client, command, argument, use)
  argument = argument or vim.empty_dict()
  request(client, 'workspace/executeCommand', { command = SERVER .. command, arguments = { argument } }, use)
end

local function document() return { uri = vim.uri_from_bufnr(0) } end
local function position(line) return { line = line - 1, character = 0 } end
local function here() return { uri = document().uri, position = position(vim.fn.line('.')) } end

local function on_function(command)
  return function(client) execute(client, command, here()) end
end

local function float(text, syntax)
  vim.lsp.util.open_floating_preview(vim.split(text, '\n'), syntax, { focus_id = 'adacoder', border = 'rounded' })
end

local function show_difference(client, job)
  execute(client, 'difference', { jobId = job, show = false }, function(found)
    if not found.difference then return adacoder.notify(found.reason, true) end
    float(found.difference, 'diff')
  end)
end

local function show_journal(client, which)
  execute(client, 'journal', vim.tbl_extend('force', which, { format = 'markdown', show = false }), function(found)
    if not found then return adacoder.notify('No journal yet: generate, fix or check a function first.', true) end
    float(found.markdown, 'markdown')
  end)
end

local function generate(client, wish)
  local place = here()
  local function ask(text)
    if text then execute(client, 'generate', vim.tbl_extend('force', place, { wish = text })) end
  end
  if wish ~= '' then return ask(wish) end
  vim.ui.input({ prompt = 'How should the function work? ' }, ask)
end

--- Shows the last journal of the function under the cursor, else of the file. A code action names the job.
local function journal(client)
  local spot = position(vim.fn.line('.'))
  local params = {
    textDocument = document(),
    range = { start = spot, ['end'] = spot },
    context = { diagnostics = {}, only = { JOURNAL } },
  }
  request(client, 'textDocument/codeAction', params, function(actions)
    local action = (actions or {})[1]
    show_journal(client, action and { jobId = action.command.arguments[1].jobId } or document())
  end)
end

--- Shows the evidence of the function under the cursor. A hover has it at the header and the docstring only.
local function evidence(client)
  local header = vim.fn.search([[^\s*\(async\s\+\)\=def\>]], 'bcnW')
  local function at(line, otherwise)
    request(client, 'textDocument/hover', { textDocument = document(), position = position(line) }, function(hover)
      if hover then float(hover.contents.value, 'markdown') else otherwise() end
    end)
  end
  at(vim.fn.line('.'), function()
    at(math.max(header, 1), function() adacoder.notify('No evidence here: check the function first.', true) end)
  end)
end

local function check_all(client)
  request(client, 'adacoder/check', { textDocument = document() }, function(answer)
    if #answer.results == 0 then return adacoder.notify(answer.reason or 'This file has no examples.', true) end
    local bad = #vim.tbl_filter(function(each)
      return each.status ~= 'verified' and each.status ~= 'unverified'
    end, answer.results)
    local advice = bad > 0 and ' See :AdaCoder failures.' or ''
    adacoder.notify(('Checked the file: %d of %d failed.%s'):format(bad, #answer.results, advice), bad > 0)
  end)
end

local function failures(client)
  local namespace = vim.lsp.diagnostic.get_namespace(client.id)
  local failed = vim.tbl_filter(function(each)
    return not NOT_OF_EXAMPLES[each.code]
  end, vim.diagnostic.get(nil, { namespace = namespace }))
  vim.fn.setqflist({}, ' ', { title = 'AdaCoder: failed examples', items = vim.diagnostic.toqflist(failed) })
  if #failed == 0 then return adacoder.notify('No example is known to fail.') end
  vim.cmd('copen')
end

local function kept(client)
  request(client, 'adacoder/kept', vim.empty_dict(), function(answer)
    if #answer.items == 0 then return adacoder.notify('No results are kept.') end
    local format = { prompt = 'Kept results', format_item = function(item) return item.title end }
    vim.ui.select(answer.items, format, function(item)
      if not item then return end
      vim.ui.select({ 'Show difference', 'Insert', 'Discard' }, { prompt = item.title }, function(_, choice)
        if choice == 1 then show_difference(client, item.jobId) end
        if choice == 2 then execute(client, 'insert', { jobId = item.jobId }) end
        if choice == 3 then execute(client, 'discard', { jobId = item.jobId }) end
      end)
    end)
  end)
end

--- Sets the model until Neovim ends; nil means the best that Ollama has.
local function use_model(name)
  adacoder.options.settings.model = name
  for _, each in pairs(adacoder.clients) do adacoder.configure(each) end
  adacoder.notify(('Model until Neovim ends: %s.'):format(name or 'automatic'))
end

local function model(client, name)
  if name ~= '' then return use_model(name) end
  execute(client, 'models', nil, function(answer)
    if #answer.models == 0 then return adacoder.notify(answer.reason or 'Ollama has no models.', true) end
    local names = { 'Automatic' }
    for _, each in ipairs(answer.models) do
      if each.chats ~= false then table.insert(names, 'ollama:' .. each.name) end
    end
    vim.ui.select(names, { prompt = 'Model' }, function(chosen, index)
      if chosen then use_model(index > 1 and chosen or nil) end
    end)
  end)
end

local function cancel()
  for _, client in pairs(adacoder.clients) do execute(client, 'cancel') end
end

local function message()
  if not adacoder.message then return adacoder.notify('No message yet.') end
  float(adacoder.message, 'text')
end

--- {name, key, function of the client and the text after the name}; `anywhere`: without a client for this buffer.
local COMMANDS = {
  { 'actions', 'a', function() vim.lsp.buf.code_action() end },
  { 'generate', 'g', on_function('generate') },
  { 'wish', 'w', generate },
  { 'generate-all', 'G', function(client) execute(client, 'generateAll', document()) end },
  { 'fix', 'f', on_function('fix') },
  { 'another', 'n', on_function('another') },
  { 'check', 't', on_function('check') },
  { 'check-all', 'T', check_all },
  { 'suggest', 's', on_function('suggestExamples') },
  { 'cancel', 'c', cancel, anywhere = true },
  { 'kept', 'k', kept },
  { 'evidence', 'e', evidence },
  { 'journal', 'j', journal },
  { 'failures', 'q', failures },
  { 'lens', 'l', function() vim.lsp.codelens.run() end },
  { 'model', 'm', model },
  { 'message', 'v', message, anywhere = true },
}

local function run(command, text)
  for id, client in pairs(adacoder.clients) do
    if vim.lsp.buf_is_attached(0, id) then return command[3](client, text) end
  end
  if command.anywhere then return command[3](nil, text) end
  adacoder.notify('AdaCoder does not run in this buffer: see :checkhealth adacoder.', true)
end

local function names(lead)
  local found = vim.tbl_map(function(command) return command[1] end, COMMANDS)
  return vim.tbl_filter(function(name) return vim.startswith(name, lead) end, found)
end

--- What lenses and code actions run here in place of the server's own way, which is to open a file.
M.of_server = {
  [SERVER .. 'status'] = function() adacoder.notify(adacoder.status()) end,
  [SERVER .. 'difference'] = function(command, context)
    show_difference(adacoder.clients[context.client_id], command.arguments[1].jobId)
  end,
  [SERVER .. 'journal'] = function(command, context)
    show_journal(adacoder.clients[context.client_id], command.arguments[1])
  end,
}

--- Defines `:AdaCoder`.
function M.define()
  vim.api.nvim_create_user_command('AdaCoder', function(invoked)
    local name, text = invoked.args:match('^(%S*)%s*(.-)%s*$')
    for _, command in ipairs(COMMANDS) do
      if command[1] == name then return run(command, text) end
    end
    adacoder.notify(("AdaCoder has no command '%s': see :help adacoder-commands."):format(name), true)
  end, {
    nargs = 1,
    desc = 'AdaCoder on the function under the cursor',
    complete = function(lead, line) return line:match('^%s*%S+%s+%S*$') and names(lead) or {} end,
  })
end

--- Maps the keys in a buffer. A key stays as it is if it would collide with another map.
function M.map(bufnr, prefix)
  vim.api.nvim_buf_call(bufnr, function()
    for _, command in ipairs(COMMANDS) do
      local keys = prefix .. command[2]
      if vim.fn.mapcheck(keys, 'n') == '' then
        local description = 'AdaCoder: ' .. command[1]
        vim.keymap.set('n', keys, function() run(command, '') end, { buffer = bufnr, desc = description })
      end
    end
  end)
end

return M
