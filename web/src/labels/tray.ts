import type { StatusLine } from '../state/values/run'
import type { laterLabels } from './later'

/** One format for all numbers: to make one for each would take most of the time of drawing a long chat. */
const n = new Intl.NumberFormat().format

/**
 * The words of a tray; the words of parts that are loaded later are in
 * laterLabels, and Labels has both. Pass your own to ChatProvider, or to one
 * ChatTray or DocumentPane; missing words are English. Texts of a model, a tool
 * or the service are shown unchanged; `failure` may replace them by your words.
 */
export const defaultLabels = {
  title: 'Assistant',
  open: 'Open the chat',
  close: 'Close the chat',
  newChat: 'New chat',
  history: 'Chats',
  more: 'More options',
  layoutTray: 'Float over the page',
  layoutSidebar: 'Dock to the side',
  layoutFull: 'Fill the page',
  themeAuto: 'Theme: system',
  themeLight: 'Theme: light',
  themeDark: 'Theme: dark',
  resize: 'Resize',
  welcomeTitle: 'How can I help?',
  welcomeText: 'Ask about what this page shows. Answers come with the sources and tools they used.',
  placeholder: 'Ask anything…',
  composer: 'Message',
  send: 'Send',
  media: (type: string) => type,
  queueAdd: 'Send after this answer',
  queueFull: 'Too many messages wait.',
  stop: 'Stop',
  stopTitle: 'Stop (Esc)',
  placeholderBusy: 'Ask next…',
  saveMarkdown: 'Save as Markdown',
  saveJson: 'Save as JSON',
  dropHere: 'Drop files to attach them',
  attach: 'Attach files',
  attachLost: 'not kept, please attach it again.',
  attachTooLarge: 'is too large.',
  attachUnsupported: 'is neither text, an image nor a PDF.',
  attachText: 'Long text',
  attachedOnly: 'See the attached file.',
  attachTooMany: 'At most 10 files.',
  log: 'Conversation',
  you: 'You',
  assistant: 'Assistant',
  thinking: 'Thinking…',
  resuming: 'Resuming…',
  stopping: 'Stopping…',
  waitingForUser: (tool: string) => `Waiting for your approval: ${tool}…`,
  waitingForPage: (tool: string) => `Waiting for ${tool} on the page…`,
  waitingForAnswer: 'Waiting for another answer that writes here…',
  waitingForModel: 'The model does not answer yet; trying again soon…',
  runningTool: (tool: string) => `Running ${tool}…`,
  reasoning: 'Reasoning',
  reasoningLive: 'Reasoning…',
  copy: 'Copy',
  copied: 'Copied',
  copyFailed: 'Not copied',
  copyCode: 'Copy code',
  code: (language: string) => (language ? `Code in ${language}` : 'Code'),
  formula: 'Formula',
  wrapCode: 'Wrap long lines',
  diagram: 'Diagram',
  diagramSource: 'Source',
  diagramFailed: 'This diagram cannot be drawn.',
  copyTable: 'Copy the table',
  saveCsv: 'Save as CSV',
  expandTable: 'Show the whole table',
  expandDiagram: 'Show the whole diagram',
  closeWhole: 'Close',
  sortBy: (column: string) => `Sort by ${column}`,
  tableRows: (n: number) => (n === 1 ? '1 row' : `${n} rows`),
  source: (n: number, title: string) => `Source ${n}: ${title}`,
  moreSources: (n: number) => `${n} more sources`,
  retry: 'Try again',
  regenerate: 'Answer again',
  edit: 'Edit',
  goodAnswer: 'Good answer',
  badAnswer: 'Bad answer',
  feedbackTaken: 'Your rating was removed.',
  keys: 'Keyboard',
  feedbackThanks: 'Thank you for telling us.',
  diagnostics: 'Diagnostics',
  jump: 'Jump to the latest',
  older: 'Earlier messages',
  showMore: 'Show more',
  showLess: 'Show less',
  loading: 'Loading…',
  toolPreparing: 'Preparing',
  toolWaiting: 'Waiting for you',
  toolRunning: 'Running',
  toolFailed: 'Failed',
  toolCancelled: 'Stopped',
  toolDenied: 'Not allowed',
  toolAllowed: 'Allowed by you',
  trail: (done: string[]) => done.map((words, i) => (i > 0 && /^[A-Z][^A-Z]/.test(words) ? words[0]!.toLowerCase() + words.slice(1) : words)).join(', '),
  trailRunning: (title: string) => `${title}…`,
  trailFailed: (title: string) => `${title} (failed)`,
  trailDenied: (title: string) => `${title} (not allowed)`,
  trailStopped: (title: string) => `${title} (stopped)`,
  threadsSide: 'One at a time',
  threadsOrder: 'In order of arrival',
  threads: 'Parallel work',
  stopped: 'You stopped this answer.',
  incomplete: 'This answer is incomplete.',
  stopMaxTokens: 'The answer reached its length limit.',
  stopMaxIterations: 'The answer reached its limit of steps.',
  stopContentFilter: 'The answer was cut by a content filter.',
  stopRefusal: 'The model declined to answer.',
  warnings: 'Notes',
  reconnecting: 'Connection lost. Reconnecting…',
  reconnectNow: 'Try now',
  errorTitle: 'Something went wrong',
  failure: (code: string, message: string) => (code === 'not_found' ? 'It is no longer there. It may have been deleted.' : message),
  unreachable: 'The service cannot be reached.',
  refused: 'The request was refused before it reached the service.',
  unavailable: 'The service does not answer at the moment. Try again later.',
  signedOut: 'You are not signed in. Sign in, then try again.',
  tokenTimeout: 'The page takes too long to sign you in. Try again.',
  dismiss: 'Dismiss',
  accept: 'Accept',
  reject: 'Reject',
  accepted: 'Accepted',
  rejected: 'Rejected',
  milliseconds: (n: number) => `${n} ms`,
  seconds: (n: number) => `${n} s`,
  usage: (input: number, output: number) => `${n(input)} tokens in, ${n(output)} out`,
  actionUnknown: (action: string) => `This page cannot do “${action}”.`,
  announceBusy: 'The assistant is answering.',
  announceDone: 'The answer is complete.',
  announceStopped: 'The answer was stopped.',
  announceError: 'The answer failed.',
  announcePanel: (title: string) => `${title} opened beside the chat.`,
  announceTool: (tool: string) => `Running ${tool}.`,
  footnotes: 'Footnotes',
  footnoteBack: (n: number) => `Back to reference ${n}`,
  imageShow: (host: string) => `Show image from ${host}`,
  imageFailed: 'The image could not be shown.',
  applyToDocument: 'Add to document',
  applied: 'Added to the document',
  payloadOpen: 'Open',
  payloadReview: 'Review',
  payloadClose: 'Close',
  payloadMore: (n: number) => (n === 1 ? '1 more result' : `${n} more results`),
  launcherWorking: 'The assistant is working.',
  launcherWaits: 'The assistant needs you.',
  launcherUnread: (n: number) => (n === 1 ? '1 new answer.' : `${n} new answers.`),
  table: 'Table',
  image: 'Image',
}

/** The words of a tray. */
export type TrayLabels = typeof defaultLabels

/** Every word that the package shows. */
export type Labels = TrayLabels & typeof laterLabels

/** An error in words: the service's errors by their code, the page's own errors by their message. */
export function problemWords(labels: TrayLabels, error: unknown): string {
  if (!(error instanceof Error) || error.message === '') return labels.errorTitle
  return 'code' in error && typeof error.code === 'string' ? failureWords(labels, error.code, error.message) : error.message
}

/** A failure of the service, or one of ours. One of the page has no words beside errorTitle. */
export function failureWords(labels: TrayLabels, code: string, message: string): string {
  switch (code) {
    case 'network':
      return labels.unreachable
    case 'refused':
      return labels.refused
    case 'http':
      return labels.unavailable
    case 'signed_out':
      return labels.signedOut
    case 'token_timeout':
      return labels.tokenTimeout
    case 'page':
      return ''
    default:
      return labels.failure(code, message)
  }
}

/** A status line in words: the label of its code, and the service's English text if the code is absent or unknown. */
export function statusWords(labels: TrayLabels, { message, code, tool }: StatusLine): string {
  switch (code) {
    case 'thinking':
      return labels.thinking
    case 'resuming':
      return labels.resuming
    case 'stopping':
      return labels.stopping
    case 'running_tool':
      return labels.runningTool(tool)
    case 'waiting_for_user':
      return labels.waitingForUser(tool)
    case 'waiting_for_page':
      return labels.waitingForPage(tool)
    case 'waiting_for_answer':
      return labels.waitingForAnswer
    case 'waiting_for_model':
      return labels.waitingForModel
    default:
      return message
  }
}
