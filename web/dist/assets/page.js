// The plain page: sends a message, shows the answer and every event. It reads
// the stream with fetch, and comes back with its cursor when the line is cut.
const $ = (id) => document.getElementById(id)
let chat = null // conversation_id
let run = null // the run under way
let pages = []

const headers = (more) => {
  const token = $('token').value.trim()
  return { ...more, ...(token && { Authorization: `Bearer ${token}` }) }
}

function add(tag, className, text, parent = $('chat')) {
  const el = document.createElement(tag)
  el.className = className
  el.textContent = text
  parent.append(el)
  parent.scrollTop = parent.scrollHeight
  return el
}

// frames yields {id, data} for each event of a response's body.
async function* frames(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let held = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    held += value
    for (let end; (end = held.indexOf('\n\n')) >= 0; held = held.slice(end + 2)) {
      const lines = held.slice(0, end).split('\n')
      const field = (name) => lines.find((line) => line.startsWith(name))?.slice(name.length)
      const data = field('data: ')
      if (data) yield { id: field('id: '), data: JSON.parse(data) }
    }
  }
}

async function problem(response) {
  const body = await response.json().catch(() => ({}))
  const more = (body.errors || []).map((e) => ` ${e.pointer}: ${e.detail}`).join('')
  return new Error((body.detail || response.statusText) + more)
}

const ended = new Set(['complete', 'error', 'cancelled'])

// follow shows a run to its end, over any number of connections.
async function follow(response, show) {
  let last = '0'
  for (let wait = 250; ; wait = Math.min(wait * 2, 8000)) {
    try {
      if (response.status === 204) return
      if (!response.ok) throw await problem(response)
      for await (const { id, data } of frames(response)) {
        if (id) last = id
        wait = 250
        if (data.run_id) run = data.run_id
        show(id, data)
        if (ended.has(data.type)) return
      }
    } catch (error) {
      if (!run || !(error instanceof TypeError)) throw error // only a broken line is tried again
    }
    if (!run) throw new Error('The answer did not begin.')
    add('li', 'status', `line cut; reading on after ${last}`, $('log'))
    await new Promise((resume) => setTimeout(resume, wait))
    response = await fetch(`/api/chat/runs/${run}/stream`, { headers: headers({ 'Last-Event-ID': last }) }).catch(() => ({ ok: true, status: 0, body: new ReadableStream({ start: (c) => c.error(new TypeError('offline')) }) }))
  }
}

async function send(body, shown) {
  busy(true)
  add('div', 'bubble user', shown)
  const status = add('div', 'bubble status', 'Sending…')
  const answer = add('div', 'bubble', '')
  answer.hidden = true
  const say = (text) => { answer.textContent = text; answer.hidden = !text; $('chat').scrollTop = $('chat').scrollHeight }
  const context = { ...($('page').value && { current_page: $('page').value }), ...($('tab').value && { active_tab: $('tab').value }) }
  try {
    const response = await fetch('/api/chat/stream', {
      method: 'POST',
      headers: headers({ 'Content-Type': 'application/json', 'Idempotency-Key': crypto.randomUUID?.() ?? String(Math.random()) }),
      body: JSON.stringify({ ...body, context, ...(chat && { conversation_id: chat }) }),
    })
    await follow(response, (id, event) => {
      add('li', '', `${id ?? ''} ${JSON.stringify(event)}`.slice(0, 600), $('log'))
      switch (event.type) {
        case 'status':
          status.textContent = event.message
          if (event.conversation_id) chat = event.conversation_id
          if (event.text !== undefined) say(event.text)
          break
        case 'text_delta': say(answer.textContent + event.text); break
        case 'tool_progress': status.textContent = `${event.tool}: ${event.message}`; break
        case 'complete': finish(event.payload, say); break
        case 'error': add('div', 'bubble error', event.message); break
        case 'cancelled': add('p', 'hint', 'Stopped.'); break
      }
    })
  } catch (error) {
    add('div', 'bubble error', error.message)
  }
  status.remove()
  run = null
  busy(false)
}

function finish(payload, say) {
  say(payload.message)
  for (const p of payload.payloads ?? []) {
    const box = add('details', '', '')
    add('summary', '', p.summary || p.type, box)
    add('pre', '', JSON.stringify(p.data, null, 2), box)
  }
  const chips = add('div', 'chips', '')
  const chip = (label, act) => { const b = add('button', '', label, chips); b.type = 'button'; b.onclick = act }
  for (const v of payload.suggested_values ?? []) chip(v.label, () => send({ message: v.value, interaction_type: 'value_selected' }, v.label))
  for (const a of payload.suggested_actions ?? []) {
    chip(a.label, () => a.handler === 'server'
      ? send({ message: a.label, interaction_type: 'action_executed', action_metadata: { action_identifier: a.action, action_data: a.data ?? {} } }, a.label)
      : add('p', 'hint', `The page would do “${a.action}” now.`))
  }
}

function busy(on) {
  $('send').disabled = on
  $('stop').disabled = !on
  if (!on) $('message').focus()
}

async function loadPages() {
  const response = await fetch('/api/pages', { headers: headers() })
  if (!response.ok) return
  pages = (await response.json()).items
  $('page').replaceChildren(new Option('none', ''), ...pages.map((p) => new Option(p.page, p.page)))
}

$('form').onsubmit = (event) => {
  event.preventDefault()
  const message = $('message').value.trim()
  if (!message || $('send').disabled) return
  $('message').value = ''
  send({ message }, message)
}
$('message').onkeydown = (event) => {
  if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) { event.preventDefault(); $('form').requestSubmit() }
}
$('stop').onclick = () => run && fetch(`/api/chat/runs/${run}/cancel`, { method: 'POST', headers: headers() })
$('new').onclick = () => { chat = null; $('chat').replaceChildren(); $('log').replaceChildren(); $('message').focus() }
$('token').onchange = loadPages
$('page').onchange = () => {
  const tabs = pages.find((p) => p.page === $('page').value)?.tabs ?? []
  $('tab').replaceChildren(new Option('none', ''), ...tabs.map((t) => new Option(t.tab, t.tab)))
}
loadPages()
