import type { Labels } from './tray'

const n = new Intl.NumberFormat('ar').format
const forms = new Intl.PluralRules('ar')

/** A number with its noun, in the plural form that the number requires. */
function count(value: number, words: { one: string; two: string; few: string; many: string; other: string }): string {
  const form = forms.select(value)
  if (form === 'one') return words.one
  if (form === 'two') return words.two
  return `${n(value)} ${form === 'few' ? words.few : form === 'many' ? words.many : words.other}`
}

/** Every word in Arabic; give `dir="rtl"` to the tray with it. */
export const ar: Labels = {
  title: 'المساعد', open: 'فتح المحادثة', close: 'إغلاق المحادثة', newChat: 'محادثة جديدة', history: 'المحادثات', historySearch: 'البحث في المحادثات', historyEmpty: 'لا توجد محادثات بعد.',
  historyNone: 'لا توجد محادثة بهذه الكلمات.', historyMore: 'المزيد', rename: 'إعادة التسمية', remove: 'حذف', removeSure: 'حذف هذه المحادثة؟', save: 'حفظ', cancel: 'إلغاء',
  untitled: 'محادثة بلا عنوان', more: 'خيارات أخرى', layoutTray: 'عائمة فوق الصفحة', layoutSidebar: 'مثبتة على الجانب', layoutFull: 'ملء الصفحة',
  themeAuto: 'المظهر: مثل النظام', themeLight: 'المظهر: فاتح', themeDark: 'المظهر: داكن', resize: 'تغيير الحجم', welcomeTitle: 'كيف يمكنني المساعدة؟',
  welcomeText: 'اسأل عما تعرضه هذه الصفحة. تذكر الإجابات المصادر والأدوات التي استخدمتها.', placeholder: 'اسأل أي شيء…', composer: 'الرسالة', send: 'إرسال',
  media: (type) => type, queueAdd: 'إرسال بعد هذه الإجابة', queueFull: 'رسائل كثيرة تنتظر.', stop: 'إيقاف', stopTitle: 'إيقاف (Esc)', placeholderBusy: 'السؤال التالي…',
  saveMarkdown: 'حفظ بصيغة Markdown', saveJson: 'حفظ بصيغة JSON', dropHere: 'أفلت الملفات لإرفاقها', attached: 'الملفات المرفقة', attach: 'إرفاق ملفات', detach: 'إزالة',
  attachLost: 'لم يُحفظ، يُرجى إرفاقه من جديد.', attachTooLarge: 'كبير جدًا.', attachUnsupported: 'ليس نصًا ولا صورة ولا ملف PDF.', attachText: 'نص طويل', attachedOnly: 'انظر الملف المرفق.', attachTooMany: '١٠ ملفات على الأكثر.', log: 'المحادثة', you: 'أنت', assistant: 'المساعد',
  thinking: 'يفكر…', resuming: 'يستأنف…', stopping: 'يتوقف…', waitingForUser: (tool) => `ينتظر موافقتك: ${tool}…`, waitingForPage: (tool) => `ينتظر ${tool} في الصفحة…`, waitingForAnswer: 'ينتظر إجابة أخرى تكتب هنا…', waitingForModel: 'النموذج لا يجيب بعد؛ ستُعاد المحاولة قريبًا…',
  runningTool: (tool) => `يجري تشغيل ${tool}…`, reasoning: 'التفكير', reasoningLive: 'يفكر…', copy: 'نسخ', copied: 'تم النسخ', copyFailed: 'لم يُنسخ', copyCode: 'نسخ الشيفرة', code: (language) => (language ? `شيفرة ${language}` : 'شيفرة'),
  formula: 'صيغة', wrapCode: 'التفاف الأسطر الطويلة', diagram: 'مخطط', diagramSource: 'المصدر', diagramFailed: 'لا يمكن رسم هذا المخطط.', copyTable: 'نسخ الجدول', saveCsv: 'حفظ بصيغة CSV',
  expandTable: 'عرض الجدول كاملًا', expandDiagram: 'عرض المخطط كاملًا', closeWhole: 'إغلاق', sortBy: (column) => `الفرز حسب ${column}`, tableRows: (rows) => count(rows, { one: 'صف واحد', two: 'صفان', few: 'صفوف', many: 'صفًا', other: 'صف' }),
  moreSources: (number) => count(number, { one: 'مصدر آخر', two: 'مصدران آخران', few: 'مصادر أخرى', many: 'مصدرًا آخر', other: 'مصدر آخر' }),
  source: (number, title) => `المصدر ${n(number)}: ${title}`, retry: 'إعادة المحاولة', regenerate: 'إجابة جديدة', edit: 'تحرير', editing: 'تحرير الرسالة', resend: 'إعادة الإرسال', goodAnswer: 'إجابة جيدة',
  badAnswer: 'إجابة سيئة', feedbackTaken: 'سُحب تقييمك.', keys: 'لوحة المفاتيح', feedbackReasons: 'الأسباب', feedbackReason: (reason) => ({ incorrect: 'غير صحيحة', not_helpful: 'غير مفيدة', incomplete: 'غير كاملة', instructions: 'ليست ما طلبته', sources: 'مصادر خاطئة أو ناقصة', harmful: 'ضارة' })[reason] ?? 'شيء آخر',
  keyTray: 'فتح المحادثة وإغلاقها', keySend: 'إرسال الرسالة', keyLine: 'بدء سطر جديد', keyRecall: 'أسئلتك الأخيرة، والحقل فارغ', keyStop: 'إيقاف الإجابة أو إغلاق لوحة أو قائمة',
  feedbackComment: 'ما الخطأ؟ (اختياري)', feedbackThanks: 'شكرًا على إخبارنا.', diagnostics: 'التشخيص', jump: 'الانتقال إلى الأحدث', older: 'رسائل سابقة', loading: 'جارٍ التحميل…',
  toolPreparing: 'قيد التحضير', toolWaiting: 'ينتظرك', toolRunning: 'قيد التشغيل', toolFailed: 'فشل', toolCancelled: 'أُوقف', toolDenied: 'غير مسموح', toolAllowed: 'سمحت به',
  trail: (done) => done.join('، '), trailRunning: (title) => `${title}…`, trailFailed: (title) => `${title} (فشل)`, trailDenied: (title) => `${title} (غير مسموح)`, trailStopped: (title) => `${title} (أُوقف)`,
  toolInput: 'المدخلات', toolOutput: 'المخرجات', toolWhole: 'عرض المخرجات كاملة', toolNoOutput: 'لا مخرجات.', threadsSide: 'واحدًا تلو الآخر', showMore: 'عرض المزيد', showLess: 'عرض الأقل', threadsOrder: 'بترتيب الوصول', threads: 'عمل متوازٍ',
  stopped: 'أوقفت هذه الإجابة.', incomplete: 'هذه الإجابة غير مكتملة.', stopMaxTokens: 'بلغت الإجابة حد طولها.', stopMaxIterations: 'بلغت الإجابة حد خطواتها.',
  stopContentFilter: 'قطع مرشح المحتوى الإجابة.', stopRefusal: 'امتنع النموذج عن الإجابة.', warnings: 'ملاحظات', reconnecting: 'انقطع الاتصال. تجري إعادة الاتصال…', reconnectNow: 'المحاولة الآن',
  errorTitle: 'حدث خطأ ما', failure: (code, message) => (code === 'not_found' ? 'لم يعد موجودًا. ربما تم حذفه.' : message), unreachable: 'لا يمكن الوصول إلى الخدمة.', refused: 'رُفض الطلب قبل أن يصل إلى الخدمة.', unavailable: 'الخدمة لا تستجيب الآن. أعد المحاولة لاحقًا.', signedOut: 'لم تسجل الدخول. سجّل الدخول ثم أعد المحاولة.', tokenTimeout: 'تستغرق الصفحة وقتًا طويلًا لتسجيل دخولك. أعد المحاولة.', dismiss: 'إخفاء', accept: 'قبول', reject: 'رفض', accepted: 'مقبول', rejected: 'مرفوض',
  closePanel: 'إغلاق اللوحة', back: 'رجوع', copyJson: 'نسخ بصيغة JSON', milliseconds: (ms) => `${n(ms)} م.ث`, seconds: (s) => `${n(s)} ث`, usage: (input, output) => `${n(input)} رمزًا داخلًا، ${n(output)} خارجًا`,
  actionUnknown: (action) => `لا تستطيع هذه الصفحة تنفيذ «${action}».`, announceBusy: 'المساعد يجيب.', announceDone: 'اكتملت الإجابة.', announceStopped: 'أُوقفت الإجابة.', announceError: 'فشلت الإجابة.',
  announcePanel: (title) => `فُتح ${title} بجانب المحادثة.`, announceTool: (tool) => `يجري تشغيل ${tool}.`, footnotes: 'الحواشي', footnoteBack: (number) => `العودة إلى المرجع ${n(number)}`, imageShow: (host) => `عرض الصورة من ${host}`,
  imageFailed: 'تعذر عرض الصورة.', applyToDocument: 'إضافة إلى المستند', applied: 'أُضيف إلى المستند', approvalTitle: 'هل أفعل هذا؟', approvalAlways: 'السماح دائمًا في هذه المحادثة', approvalInput: 'ما يُعطى له',
  approvalNoJson: 'هذا ليس JSON.', approvalRounds: 'سيقرّب المتصفح رقمًا هنا، لذلك لا يمكن تغييره.', approve: 'موافقة', approveChanged: 'موافقة مع التغييرات', deny: 'رفض', payloadOpen: 'فتح', payloadReview: 'مراجعة', payloadClose: 'إغلاق',
  payloadMore: (more) => count(more, { one: 'نتيجة أخرى', two: 'نتيجتان أخريان', few: 'نتائج أخرى', many: 'نتيجة أخرى', other: 'نتيجة أخرى' }), launcherWorking: 'المساعد يعمل.', launcherWaits: 'المساعد يحتاج إليك.',
  launcherUnread: (unread) => `${count(unread, { one: 'إجابة جديدة', two: 'إجابتان جديدتان', few: 'إجابات جديدة', many: 'إجابة جديدة', other: 'إجابة جديدة' })}.`,
  approvalConfirms: 'تسأل هذه الأداة قبل أن تعمل.', approvalUntrusted: 'قرأت نصًا من الخارج ربما طلب مني فعل هذا.',
  approvalUnseenUrl: 'قرأت نصًا من الخارج وركّبت هذا العنوان بنفسي؛ قد يُخرج بيانات.', table: 'جدول', image: 'صورة',

  historyFailed: 'تعذرت قراءة المحادثات.', historyInvite: 'تُحفظ أسئلتك هنا مع إجاباتها.', queue: 'رسائل منتظرة', queueSend: 'إرسال الآن', queueRemove: 'استرجاع', versions: 'النسخ', versionOf: (number, total) => `النسخة ${n(number)} من ${n(total)}`, versionPrevious: 'النسخة السابقة', versionNext: 'النسخة التالية',
  model: 'النموذج', modelPriced: (name, input, output) => `${name} (${n(input)}$ للداخل، ${n(output)}$ للخارج)`, chatUsed: 'استهلاك هذه المحادثة', chatTokens: (tokens) => count(tokens, { one: 'رمز واحد', two: 'رمزان', few: 'رموز', many: 'رمزًا', other: 'رمز' }),
  chatCost: (usd) => `${usd.toLocaleString('ar', { maximumSignificantDigits: usd < 0.01 ? 1 : 3 })}$`, chatContext: (part) => `${n(Math.max(1, Math.round(part * 100)))}٪ من السياق`, commands: 'الأوامر', mentions: 'الأدوات والمستندات',
  paletteFound: (found) => (found === 0 ? 'لم يُعثر على شيء.' : count(found, { one: 'خيار واحد.', two: 'خياران.', few: 'خيارات.', many: 'خيارًا.', other: 'خيار.' })), document: 'مستند', pin: 'تثبيت', unpin: 'إلغاء التثبيت', archive: 'أرشفة',
  unarchive: 'إخراج من الأرشيف', archivedShow: 'المحادثات المؤرشفة', pinned: 'المثبتة', today: 'اليوم', yesterday: 'أمس', thisWeek: 'آخر ٧ أيام', thisMonth: 'آخر ٣٠ يومًا', earlier: 'أقدم', docDecided: 'حُسم كل شيء.', undoAccept: 'التراجع عن القبول',
  undoRevert: 'التراجع عن الإلغاء', keysNext: 'التالي، السابق', blockPlanned: 'مخطط له', chartPng: 'حفظ بصيغة PNG', dataChanges: 'تغييرات البيانات', traceModel: 'النموذج', traceTools: 'الأدوات', traceLimits: 'الحدود',
  traceLimitsOf: (tokens, iterations, temperature) => `${n(tokens)} رمزًا، ${n(iterations)} تكرارات، الحرارة ${n(temperature)}`, traceIterations: (total) => `التكرارات (${n(total)})`, traceNoReply: 'لا رد', traceStop: (reason) => reason,
  traceError: 'خطأ', tracePrompt: 'تعليمات النظام', traceMessages: (total) => `الرسائل (${n(total)})`, traceRole: (role) => role, traceContext: 'السياق', traceRaw: 'الرد الخام', tableFirst: (rows) => `الصفوف الأولى: ${n(rows)}.`,
  imageNone: 'هذه ليست صورة.', chart: 'رسم بياني', chartLoading: 'جارٍ تحميل الرسم…', chartWriting: 'يُرسم عند اكتمال البيانات…', chartFailed: 'تعذر رسم الرسم البياني.', chartEmpty: 'لا بيانات في الرسم.',
  chartData: 'البيانات', docEmpty: 'هذا المستند فارغ', docInvite: 'اطلب من المساعد كتابته، أو أضف كتلة.', docAsk: 'اسأل عن هذا المستند', docAskSend: 'اسأل', docPause: 'إيقاف مؤقت', docPauseTitle: 'إنهاء هذه الإجابة، ويستمر ما ينتظر بعدها', docAskWhere: 'مكان الإجابة', docAskAnywhere: 'حيث يناسب', docAskNew: 'كتلة جديدة في النهاية', docAskBlock: (number, words) => `الكتلة ${number}: ${words}`, docPending: (total) => count(total, { one: 'تغيير واحد ينتظرك', two: 'تغييران ينتظرانك', few: 'تغييرات تنتظرك', many: 'تغييرًا ينتظرك', other: 'تغيير ينتظرك' }),
  docFailed: 'تعذرت قراءة المستند.', docStale: 'تغير المستند في هذه الأثناء؛ هكذا هو الآن.', docVersions: 'الإصدارات', docVersionsNone: 'لا توجد إصدارات سابقة بعد. يُحفظ إصدار قبل كل تغيير.', docRestore: 'استعادة هذا الإصدار',
  docVersionBefore: (reason) => (reason === 'accepted' ? 'قبل قبول المقترحات' : reason === 'restored' ? 'قبل استعادة إصدار' : 'قبل التحرير'), docRestoreWaits: 'احسم أولًا التغييرات المعلقة؛ عندها يمكن استعادة إصدار.',
  docBeingWritten: 'هذا المحتوى قيد الكتابة. قرر بعد اكتماله، أو ألغه الآن.', docWithdrawn: 'سُحب ما كان قيد الكتابة.', docTitle: 'العنوان', docRename: 'إعادة تسمية المستند', revert: 'إلغاء', revertAll: 'إلغاء الكل', acceptAll: 'قبول الكل',
  blockName: (type) => `كتلة ${type}`, blockWriting: 'قيد الكتابة', blockNew: 'جديد', blockChanged: 'متغير', blockDeleted: 'سيُحذف', blockMoved: 'سيُنقل', blockMovedAfter: (words) => `بعد «${words}»`, blockMovedFirst: 'إلى البداية', blockMovedHere: (words) => `تُنقل «${words}» إلى هنا`, viewDiff: 'الفروق', viewNew: 'الجديد', viewCurrent: 'الحالي', blockEdit: 'تحرير الكتلة',
  blockUp: 'رفع الكتلة', blockRemove: 'حذف الكتلة', blockRemoveSure: 'حذف هذه الكتلة؟', blockContent: 'المحتوى', blockAdd: 'إضافة كتلة', cardPubMed: 'نتائج PubMed', cardArticles: 'المقالات', cardArticle: 'مقال PubMed', cardWeb: 'نتائج الويب',
  cardPage: 'صفحة ويب', cardReports: 'التقارير', cardReport: 'تقرير', cardStreams: 'مواضيع البحث', cardStream: 'موضوع بحث', cardSchema: 'اقتراح مخطط', cardQuery: 'اقتراح استعلام', cardSuggestions: 'مواضيع مقترحة',
  cardValidation: 'التحقق', cardCategories: 'الفئات', cardColumn: 'اقتراح عمود', foundOf: (shown, total) => `${n(shown)} من ${n(total)}`, abstract: 'الملخص', andOthers: (names) => `${names} وآخرون`, beginning: 'البداية',
  reportNumber: (id) => `التقرير ${n(id)}`, streamNumber: (id) => `الموضوع ${n(id)}`, articleCount: (total) => count(total, { one: 'مقال واحد', two: 'مقالان', few: 'مقالات', many: 'مقالًا', other: 'مقال' }), schema: 'المخطط', validity: (status) => status,
}
