--- A model's reply below the function's docstring while it grows. The text of the buffer stays as it is.
local M = {}

local SHOWN = 10 -- the last lines of the reply
local namespace = vim.api.nvim_create_namespace('adacoder.writing')
local marks = {} -- {buffer, mark} by job

--- Shows the parameters of `adacoder/writing`. A mark keeps the place while the user types.
function M.show(params)
  local known = marks[params.jobId]
  if params.ended then
    if known and vim.api.nvim_buf_is_valid(known[1]) then
      vim.api.nvim_buf_del_extmark(known[1], namespace, known[2])
    end
    marks[params.jobId] = nil
    return
  end
  local bufnr = vim.uri_to_bufnr(params.uri)
  if not vim.api.nvim_buf_is_loaded(bufnr) then return end
  local place = known and vim.api.nvim_buf_get_extmark_by_id(bufnr, namespace, known[2], {}) or {}
  local line = math.min(place[1] or params.last, vim.api.nvim_buf_line_count(bufnr) - 1)
  local rows = { { { params.message, 'DiagnosticInfo' } } }
  for index = math.max(#params.lines - SHOWN + 1, 1), #params.lines do
    table.insert(rows, { { params.lines[index]:gsub('\t', '    '), 'Comment' } })
  end
  local mark = vim.api.nvim_buf_set_extmark(bufnr, namespace, line, 0, { id = known and known[2], virt_lines = rows })
  marks[params.jobId] = { bufnr, mark }
end

--- Hides all replies.
function M.clear()
  for _, mark in pairs(marks) do
    if vim.api.nvim_buf_is_valid(mark[1]) then vim.api.nvim_buf_clear_namespace(mark[1], namespace, 0, -1) end
  end
  marks = {}
end

return M
