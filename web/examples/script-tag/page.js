import { createElement as h, mount, registerPayloadHandler } from '/chattray/chattray.js'

registerPayloadHandler('report', { inline: (data) => h('p', null, data.title) })

mount({
  context: { current_page: 'reports', report_id: 1 },
  tray: { defaultOpen: true, starters: [{ label: 'Summarize report 1' }] },
})
