var e=`markdown`,t=`markdown`,n=[{type:`event`,props:{data:{chat_id:`CHAT1`,conversation_id:1,ref:`RUN1`,run_id:`RUN1`,user_message_id:`MSG1`},event:`stream_start`},chunk_id:`C1`,metadata:{timestamp:9466848e5,sequence:1}},{type:`event`,props:{data:{block_id:`B1`,label:`Answer`,ref:`MSG2`,type:`llm`},event:`block_start`},chunk_id:`C2`,block_id:`B1`,metadata:{timestamp:9466848e5,sequence:2}},{type:`event`,props:{data:{message_id:`M1`,ref:`MSG2`,type:`text`},event:`message_start`},chunk_id:`C3`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800015,sequence:3}},{type:`text`,props:{content:`I `},delta:!0,chunk_id:`C4`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800015,sequence:4}},{type:`text`,props:{content:`am `},delta:!0,chunk_id:`C5`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800030,sequence:5}},{type:`text`,props:{content:`the `},delta:!0,chunk_id:`C6`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800045,sequence:6}},{type:`text`,props:{content:`built-in `},delta:!0,chunk_id:`C7`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800060,sequence:7}},{type:`text`,props:{content:`**demo `},delta:!0,chunk_id:`C8`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800075,sequence:8}},{type:`text`,props:{content:`model**: `},delta:!0,chunk_id:`C9`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800090,sequence:9}},{type:`text`,props:{content:`rules `},delta:!0,chunk_id:`C10`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800105,sequence:10}},{type:`text`,props:{content:`instead `},delta:!0,chunk_id:`C11`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800120,sequence:11}},{type:`text`,props:{content:`of `},delta:!0,chunk_id:`C12`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800135,sequence:12}},{type:`text`,props:{content:`a `},delta:!0,chunk_id:`C13`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800150,sequence:13}},{type:`text`,props:{content:`language `},delta:!0,chunk_id:`C14`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800165,sequence:14}},{type:`text`,props:{content:`model, `},delta:!0,chunk_id:`C15`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800180,sequence:15}},{type:`text`,props:{content:`but `},delta:!0,chunk_id:`C16`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800195,sequence:16}},{type:`text`,props:{content:`real `},delta:!0,chunk_id:`C17`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800210,sequence:17}},{type:`text`,props:{content:`tools, `},delta:!0,chunk_id:`C18`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800225,sequence:18}},{type:`text`,props:{content:`documents `},delta:!0,chunk_id:`C19`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800240,sequence:19}},{type:`text`,props:{content:`and `},delta:!0,chunk_id:`C20`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800255,sequence:20}},{type:`text`,props:{content:`approvals. `},delta:!0,chunk_id:`C21`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800270,sequence:21}},{type:`text`,props:{content:`Try `},delta:!0,chunk_id:`C22`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800285,sequence:22}},{type:`text`,props:{content:`\`help\`.

`},delta:!0,chunk_id:`C23`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800300,sequence:23}},{type:`text`,props:{content:`# `},delta:!0,chunk_id:`C24`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800315,sequence:24}},{type:`text`,props:{content:`Heading `},delta:!0,chunk_id:`C25`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800330,sequence:25}},{type:`text`,props:{content:`one

`},delta:!0,chunk_id:`C26`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800345,sequence:26}},{type:`text`,props:{content:`## `},delta:!0,chunk_id:`C27`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800360,sequence:27}},{type:`text`,props:{content:`Heading `},delta:!0,chunk_id:`C28`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800375,sequence:28}},{type:`text`,props:{content:`two

`},delta:!0,chunk_id:`C29`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800390,sequence:29}},{type:`text`,props:{content:`### `},delta:!0,chunk_id:`C30`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800405,sequence:30}},{type:`text`,props:{content:`Heading `},delta:!0,chunk_id:`C31`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800420,sequence:31}},{type:`text`,props:{content:`three

`},delta:!0,chunk_id:`C32`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800435,sequence:32}},{type:`text`,props:{content:`A `},delta:!0,chunk_id:`C33`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800450,sequence:33}},{type:`text`,props:{content:`paragraph `},delta:!0,chunk_id:`C34`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800465,sequence:34}},{type:`text`,props:{content:`with `},delta:!0,chunk_id:`C35`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800480,sequence:35}},{type:`text`,props:{content:`*emphasis*, `},delta:!0,chunk_id:`C36`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800495,sequence:36}},{type:`text`,props:{content:`**strong `},delta:!0,chunk_id:`C37`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800510,sequence:37}},{type:`text`,props:{content:`words**, `},delta:!0,chunk_id:`C38`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800525,sequence:38}},{type:`text`,props:{content:`~~crossed `},delta:!0,chunk_id:`C39`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800540,sequence:39}},{type:`text`,props:{content:`out `},delta:!0,chunk_id:`C40`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800555,sequence:40}},{type:`text`,props:{content:`words~~, `},delta:!0,chunk_id:`C41`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800570,sequence:41}},{type:`text`,props:{content:"`inline "},delta:!0,chunk_id:`C42`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800585,sequence:42}},{type:`text`,props:{content:"code`, "},delta:!0,chunk_id:`C43`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800600,sequence:43}},{type:`text`,props:{content:`a `},delta:!0,chunk_id:`C44`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800615,sequence:44}},{type:`text`,props:{content:`[link](https://pubmed.ncbi.nlm.nih.gov/) `},delta:!0,chunk_id:`C45`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800630,sequence:45}},{type:`text`,props:{content:`and `},delta:!0,chunk_id:`C46`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800645,sequence:46}},{type:`text`,props:{content:`a `},delta:!0,chunk_id:`C47`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800660,sequence:47}},{type:`text`,props:{content:`line
`},delta:!0,chunk_id:`C48`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800675,sequence:48}},{type:`text`,props:{content:`break `},delta:!0,chunk_id:`C49`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800690,sequence:49}},{type:`text`,props:{content:`that `},delta:!0,chunk_id:`C50`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800705,sequence:50}},{type:`text`,props:{content:`is `},delta:!0,chunk_id:`C51`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800720,sequence:51}},{type:`text`,props:{content:`none.

`},delta:!0,chunk_id:`C52`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800735,sequence:52}},{type:`text`,props:{content:`- `},delta:!0,chunk_id:`C53`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800750,sequence:53}},{type:`text`,props:{content:`A `},delta:!0,chunk_id:`C54`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800765,sequence:54}},{type:`text`,props:{content:`list
`},delta:!0,chunk_id:`C55`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800780,sequence:55}},{type:`text`,props:{content:`  - `},delta:!0,chunk_id:`C56`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800795,sequence:56}},{type:`text`,props:{content:`with `},delta:!0,chunk_id:`C57`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800810,sequence:57}},{type:`text`,props:{content:`a `},delta:!0,chunk_id:`C58`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800825,sequence:58}},{type:`text`,props:{content:`list `},delta:!0,chunk_id:`C59`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800840,sequence:59}},{type:`text`,props:{content:`inside
`},delta:!0,chunk_id:`C60`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800855,sequence:60}},{type:`text`,props:{content:`    - `},delta:!0,chunk_id:`C61`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800870,sequence:61}},{type:`text`,props:{content:`and `},delta:!0,chunk_id:`C62`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800885,sequence:62}},{type:`text`,props:{content:`one `},delta:!0,chunk_id:`C63`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800900,sequence:63}},{type:`text`,props:{content:`more
`},delta:!0,chunk_id:`C64`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800915,sequence:64}},{type:`text`,props:{content:`- `},delta:!0,chunk_id:`C65`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800930,sequence:65}},{type:`text`,props:{content:`and `},delta:!0,chunk_id:`C66`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800945,sequence:66}},{type:`text`,props:{content:`an `},delta:!0,chunk_id:`C67`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800960,sequence:67}},{type:`text`,props:{content:`item `},delta:!0,chunk_id:`C68`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800975,sequence:68}},{type:`text`,props:{content:`of `},delta:!0,chunk_id:`C69`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684800990,sequence:69}},{type:`text`,props:{content:`two `},delta:!0,chunk_id:`C70`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801005,sequence:70}},{type:`text`,props:{content:`paragraphs

`},delta:!0,chunk_id:`C71`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801020,sequence:71}},{type:`text`,props:{content:`  of `},delta:!0,chunk_id:`C72`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801035,sequence:72}},{type:`text`,props:{content:`which `},delta:!0,chunk_id:`C73`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801050,sequence:73}},{type:`text`,props:{content:`this `},delta:!0,chunk_id:`C74`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801065,sequence:74}},{type:`text`,props:{content:`is `},delta:!0,chunk_id:`C75`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801080,sequence:75}},{type:`text`,props:{content:`the `},delta:!0,chunk_id:`C76`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801095,sequence:76}},{type:`text`,props:{content:`second.

`},delta:!0,chunk_id:`C77`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801110,sequence:77}},{type:`text`,props:{content:`1. `},delta:!0,chunk_id:`C78`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801125,sequence:78}},{type:`text`,props:{content:`First
`},delta:!0,chunk_id:`C79`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801140,sequence:79}},{type:`text`,props:{content:`2. `},delta:!0,chunk_id:`C80`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801155,sequence:80}},{type:`text`,props:{content:`Second
`},delta:!0,chunk_id:`C81`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801170,sequence:81}},{type:`text`,props:{content:`3. `},delta:!0,chunk_id:`C82`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801185,sequence:82}},{type:`text`,props:{content:`Third

`},delta:!0,chunk_id:`C83`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801200,sequence:83}},{type:`text`,props:{content:`- `},delta:!0,chunk_id:`C84`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801215,sequence:84}},{type:`text`,props:{content:`[x] `},delta:!0,chunk_id:`C85`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801230,sequence:85}},{type:`text`,props:{content:`done
`},delta:!0,chunk_id:`C86`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801245,sequence:86}},{type:`text`,props:{content:`- `},delta:!0,chunk_id:`C87`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801260,sequence:87}},{type:`text`,props:{content:`[ `},delta:!0,chunk_id:`C88`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801275,sequence:88}},{type:`text`,props:{content:`] `},delta:!0,chunk_id:`C89`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801290,sequence:89}},{type:`text`,props:{content:`to `},delta:!0,chunk_id:`C90`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801305,sequence:90}},{type:`text`,props:{content:`do

`},delta:!0,chunk_id:`C91`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801320,sequence:91}},{type:`text`,props:{content:`> `},delta:!0,chunk_id:`C92`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801335,sequence:92}},{type:`text`,props:{content:`A `},delta:!0,chunk_id:`C93`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801350,sequence:93}},{type:`text`,props:{content:`quotation, `},delta:!0,chunk_id:`C94`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801365,sequence:94}},{type:`text`,props:{content:`with `},delta:!0,chunk_id:`C95`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801380,sequence:95}},{type:`text`,props:{content:`**strong `},delta:!0,chunk_id:`C96`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801395,sequence:96}},{type:`text`,props:{content:`words**
`},delta:!0,chunk_id:`C97`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801410,sequence:97}},{type:`text`,props:{content:`> `},delta:!0,chunk_id:`C98`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801425,sequence:98}},{type:`text`,props:{content:`over `},delta:!0,chunk_id:`C99`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801440,sequence:99}},{type:`text`,props:{content:`two `},delta:!0,chunk_id:`C100`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801455,sequence:100}},{type:`text`,props:{content:`lines.

`},delta:!0,chunk_id:`C101`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801470,sequence:101}},{type:`text`,props:{content:`| `},delta:!0,chunk_id:`C102`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801485,sequence:102}},{type:`text`,props:{content:`Left `},delta:!0,chunk_id:`C103`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801500,sequence:103}},{type:`text`,props:{content:`| `},delta:!0,chunk_id:`C104`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801515,sequence:104}},{type:`text`,props:{content:`Middle `},delta:!0,chunk_id:`C105`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801530,sequence:105}},{type:`text`,props:{content:`| `},delta:!0,chunk_id:`C106`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801545,sequence:106}},{type:`text`,props:{content:`Right `},delta:!0,chunk_id:`C107`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801560,sequence:107}},{type:`text`,props:{content:`|
`},delta:!0,chunk_id:`C108`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801575,sequence:108}},{type:`text`,props:{content:`|:---|:---:|---:|
`},delta:!0,chunk_id:`C109`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801590,sequence:109}},{type:`text`,props:{content:`| `},delta:!0,chunk_id:`C110`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801605,sequence:110}},{type:`text`,props:{content:`a `},delta:!0,chunk_id:`C111`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801620,sequence:111}},{type:`text`,props:{content:`| `},delta:!0,chunk_id:`C112`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801635,sequence:112}},{type:`text`,props:{content:`b `},delta:!0,chunk_id:`C113`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801650,sequence:113}},{type:`text`,props:{content:`| `},delta:!0,chunk_id:`C114`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801665,sequence:114}},{type:`text`,props:{content:`1 `},delta:!0,chunk_id:`C115`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801680,sequence:115}},{type:`text`,props:{content:`|
`},delta:!0,chunk_id:`C116`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801695,sequence:116}},{type:`text`,props:{content:`| `},delta:!0,chunk_id:`C117`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801710,sequence:117}},{type:`text`,props:{content:`long `},delta:!0,chunk_id:`C118`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801725,sequence:118}},{type:`text`,props:{content:`cell `},delta:!0,chunk_id:`C119`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801740,sequence:119}},{type:`text`,props:{content:`with `},delta:!0,chunk_id:`C120`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801755,sequence:120}},{type:`text`,props:{content:"`code` "},delta:!0,chunk_id:`C121`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801770,sequence:121}},{type:`text`,props:{content:`| `},delta:!0,chunk_id:`C122`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801785,sequence:122}},{type:`text`,props:{content:`**b** `},delta:!0,chunk_id:`C123`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801800,sequence:123}},{type:`text`,props:{content:`| `},delta:!0,chunk_id:`C124`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801815,sequence:124}},{type:`text`,props:{content:`1,000 `},delta:!0,chunk_id:`C125`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801830,sequence:125}},{type:`text`,props:{content:`|
`},delta:!0,chunk_id:`C126`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801845,sequence:126}},{type:`text`,props:{content:`| `},delta:!0,chunk_id:`C127`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801860,sequence:127}},{type:`text`,props:{content:`a `},delta:!0,chunk_id:`C128`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801875,sequence:128}},{type:`text`,props:{content:`pipe `},delta:!0,chunk_id:`C129`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801890,sequence:129}},{type:`text`,props:{content:`\\| `},delta:!0,chunk_id:`C130`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801905,sequence:130}},{type:`text`,props:{content:`in `},delta:!0,chunk_id:`C131`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801920,sequence:131}},{type:`text`,props:{content:`a `},delta:!0,chunk_id:`C132`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801935,sequence:132}},{type:`text`,props:{content:`cell `},delta:!0,chunk_id:`C133`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801950,sequence:133}},{type:`text`,props:{content:`| `},delta:!0,chunk_id:`C134`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801965,sequence:134}},{type:`text`,props:{content:`– `},delta:!0,chunk_id:`C135`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801980,sequence:135}},{type:`text`,props:{content:`| `},delta:!0,chunk_id:`C136`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684801995,sequence:136}},{type:`text`,props:{content:`−5 `},delta:!0,chunk_id:`C137`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802010,sequence:137}},{type:`text`,props:{content:`|

`},delta:!0,chunk_id:`C138`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802025,sequence:138}},{type:`text`,props:{content:"```go\n"},delta:!0,chunk_id:`C139`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802040,sequence:139}},{type:`text`,props:{content:`// `},delta:!0,chunk_id:`C140`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802055,sequence:140}},{type:`text`,props:{content:`Hello `},delta:!0,chunk_id:`C141`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802070,sequence:141}},{type:`text`,props:{content:`says `},delta:!0,chunk_id:`C142`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802085,sequence:142}},{type:`text`,props:{content:`hello.
`},delta:!0,chunk_id:`C143`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802100,sequence:143}},{type:`text`,props:{content:`func `},delta:!0,chunk_id:`C144`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802115,sequence:144}},{type:`text`,props:{content:`Hello(name `},delta:!0,chunk_id:`C145`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802130,sequence:145}},{type:`text`,props:{content:`string) `},delta:!0,chunk_id:`C146`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802145,sequence:146}},{type:`text`,props:{content:`string `},delta:!0,chunk_id:`C147`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802160,sequence:147}},{type:`text`,props:{content:`{
	`},delta:!0,chunk_id:`C148`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802175,sequence:148}},{type:`text`,props:{content:`return `},delta:!0,chunk_id:`C149`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802190,sequence:149}},{type:`text`,props:{content:`"Hello, `},delta:!0,chunk_id:`C150`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802205,sequence:150}},{type:`text`,props:{content:`" `},delta:!0,chunk_id:`C151`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802220,sequence:151}},{type:`text`,props:{content:`+ `},delta:!0,chunk_id:`C152`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802235,sequence:152}},{type:`text`,props:{content:`name `},delta:!0,chunk_id:`C153`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802250,sequence:153}},{type:`text`,props:{content:`+ `},delta:!0,chunk_id:`C154`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802265,sequence:154}},{type:`text`,props:{content:`"!"
`},delta:!0,chunk_id:`C155`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802280,sequence:155}},{type:`text`,props:{content:`}
`},delta:!0,chunk_id:`C156`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802295,sequence:156}},{type:`text`,props:{content:"```\n\n"},delta:!0,chunk_id:`C157`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802310,sequence:157}},{type:`text`,props:{content:"```json\n"},delta:!0,chunk_id:`C158`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802325,sequence:158}},{type:`text`,props:{content:`{"marker": `},delta:!0,chunk_id:`C159`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802340,sequence:159}},{type:`text`,props:{content:`"SUGGESTED_VALUES: `},delta:!0,chunk_id:`C160`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802355,sequence:160}},{type:`text`,props:{content:`[\\"inside `},delta:!0,chunk_id:`C161`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802370,sequence:161}},{type:`text`,props:{content:`a `},delta:!0,chunk_id:`C162`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802385,sequence:162}},{type:`text`,props:{content:`fence `},delta:!0,chunk_id:`C163`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802400,sequence:163}},{type:`text`,props:{content:`it `},delta:!0,chunk_id:`C164`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802415,sequence:164}},{type:`text`,props:{content:`is `},delta:!0,chunk_id:`C165`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802430,sequence:165}},{type:`text`,props:{content:`text\\"]"}
`},delta:!0,chunk_id:`C166`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802445,sequence:166}},{type:`text`,props:{content:"```\n\n"},delta:!0,chunk_id:`C167`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802460,sequence:167}},{type:`text`,props:{content:`---

`},delta:!0,chunk_id:`C168`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802475,sequence:168}},{type:`text`,props:{content:`A `},delta:!0,chunk_id:`C169`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802490,sequence:169}},{type:`text`,props:{content:`very `},delta:!0,chunk_id:`C170`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802505,sequence:170}},{type:`text`,props:{content:`long `},delta:!0,chunk_id:`C171`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802520,sequence:171}},{type:`text`,props:{content:`word: `},delta:!0,chunk_id:`C172`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802535,sequence:172}},{type:`text`,props:{content:`Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft.

`},delta:!0,chunk_id:`C173`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802550,sequence:173}},{type:`text`,props:{content:`Other `},delta:!0,chunk_id:`C174`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802565,sequence:174}},{type:`text`,props:{content:`scripts: `},delta:!0,chunk_id:`C175`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802580,sequence:175}},{type:`text`,props:{content:`العربية `},delta:!0,chunk_id:`C176`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802595,sequence:176}},{type:`text`,props:{content:`من `},delta:!0,chunk_id:`C177`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802610,sequence:177}},{type:`text`,props:{content:`اليمين `},delta:!0,chunk_id:`C178`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802625,sequence:178}},{type:`text`,props:{content:`إلى `},delta:!0,chunk_id:`C179`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802640,sequence:179}},{type:`text`,props:{content:`اليسار `},delta:!0,chunk_id:`C180`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802655,sequence:180}},{type:`text`,props:{content:`· `},delta:!0,chunk_id:`C181`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802670,sequence:181}},{type:`text`,props:{content:`中文没有空格 `},delta:!0,chunk_id:`C182`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802685,sequence:182}},{type:`text`,props:{content:`· `},delta:!0,chunk_id:`C183`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802700,sequence:183}},{type:`text`,props:{content:`हिन्दी `},delta:!0,chunk_id:`C184`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802715,sequence:184}},{type:`text`,props:{content:`· `},delta:!0,chunk_id:`C185`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802730,sequence:185}},{type:`text`,props:{content:`emoji `},delta:!0,chunk_id:`C186`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802745,sequence:186}},{type:`text`,props:{content:`👩‍🔬🧬.

`},delta:!0,chunk_id:`C187`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802760,sequence:187}},{type:`text`,props:{content:`What `},delta:!0,chunk_id:`C188`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802775,sequence:188}},{type:`text`,props:{content:`must `},delta:!0,chunk_id:`C189`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802790,sequence:189}},{type:`text`,props:{content:`stay `},delta:!0,chunk_id:`C190`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802805,sequence:190}},{type:`text`,props:{content:`text: `},delta:!0,chunk_id:`C191`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802820,sequence:191}},{type:`text`,props:{content:`<script>alert("no")<\/script>, `},delta:!0,chunk_id:`C192`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802835,sequence:192}},{type:`text`,props:{content:`[a `},delta:!0,chunk_id:`C193`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802850,sequence:193}},{type:`text`,props:{content:`dead `},delta:!0,chunk_id:`C194`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802865,sequence:194}},{type:`text`,props:{content:`link](javascript:alert(1)), `},delta:!0,chunk_id:`C195`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802880,sequence:195}},{type:`text`,props:{content:`a `},delta:!0,chunk_id:`C196`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802895,sequence:196}},{type:`text`,props:{content:`tool `},delta:!0,chunk_id:`C197`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802910,sequence:197}},{type:`text`,props:{content:`marker `},delta:!0,chunk_id:`C198`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802925,sequence:198}},{type:`text`,props:{content:`[\\[tool:0]].


`},delta:!0,chunk_id:`C199`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802940,sequence:199}},{type:`event`,props:{data:{message_id:`M1`,status:`completed`},event:`message_end`},chunk_id:`C200`,message_id:`M1`,block_id:`B1`,metadata:{timestamp:946684802970,sequence:200}},{type:`event`,props:{data:{block_id:`B1`,status:`completed`,type:`llm`},event:`block_end`},chunk_id:`C201`,block_id:`B1`,metadata:{timestamp:946684802970,sequence:201}},{type:`event`,props:{data:{payload:{message:`I am the built-in **demo model**: rules instead of a language model, but real tools, documents and approvals. Try \`help\`.

# Heading one

## Heading two

### Heading three

A paragraph with *emphasis*, **strong words**, ~~crossed out words~~, \`inline code\`, a [link](https://pubmed.ncbi.nlm.nih.gov/) and a line
break that is none.

- A list
  - with a list inside
    - and one more
- and an item of two paragraphs

  of which this is the second.

1. First
2. Second
3. Third

- [x] done
- [ ] to do

> A quotation, with **strong words**
> over two lines.

| Left | Middle | Right |
|:---|:---:|---:|
| a | b | 1 |
| long cell with \`code\` | **b** | 1,000 |
| a pipe \\| in a cell | – | −5 |

\`\`\`go
// Hello says hello.
func Hello(name string) string {
	return "Hello, " + name + "!"
}
\`\`\`

\`\`\`json
{"marker": "SUGGESTED_VALUES: [\\"inside a fence it is text\\"]"}
\`\`\`

---

A very long word: Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft.

Other scripts: العربية من اليمين إلى اليسار · 中文没有空格 · हिन्दी · emoji 👩‍🔬🧬.

What must stay text: <script>alert("no")<\/script>, [a dead link](javascript:alert(1)), a tool marker [\\[tool:0]].`,suggested_values:[{label:`help`,value:`help`}],conversation_id:1,chat_id:`CHAT1`,message_id:`MSG2`,run_id:`RUN1`,stop_reason:`end_turn`,usage:{input_tokens:1688,output_tokens:321,total_tokens:2009}},status:`completed`},event:`stream_end`},chunk_id:`C202`,metadata:{timestamp:946684802970,sequence:202}}],r=[{type:`status`,message:`Thinking...`,run_id:`RUN1`,conversation_id:1,chat_id:`CHAT1`,user_message_id:`MSG1`},{type:`text_delta`,text:`I `},{type:`text_delta`,text:`am `},{type:`text_delta`,text:`the `},{type:`text_delta`,text:`built-in `},{type:`text_delta`,text:`**demo `},{type:`text_delta`,text:`model**: `},{type:`text_delta`,text:`rules `},{type:`text_delta`,text:`instead `},{type:`text_delta`,text:`of `},{type:`text_delta`,text:`a `},{type:`text_delta`,text:`language `},{type:`text_delta`,text:`model, `},{type:`text_delta`,text:`but `},{type:`text_delta`,text:`real `},{type:`text_delta`,text:`tools, `},{type:`text_delta`,text:`documents `},{type:`text_delta`,text:`and `},{type:`text_delta`,text:`approvals. `},{type:`text_delta`,text:`Try `},{type:`text_delta`,text:`\`help\`.

`},{type:`text_delta`,text:`# `},{type:`text_delta`,text:`Heading `},{type:`text_delta`,text:`one

`},{type:`text_delta`,text:`## `},{type:`text_delta`,text:`Heading `},{type:`text_delta`,text:`two

`},{type:`text_delta`,text:`### `},{type:`text_delta`,text:`Heading `},{type:`text_delta`,text:`three

`},{type:`text_delta`,text:`A `},{type:`text_delta`,text:`paragraph `},{type:`text_delta`,text:`with `},{type:`text_delta`,text:`*emphasis*, `},{type:`text_delta`,text:`**strong `},{type:`text_delta`,text:`words**, `},{type:`text_delta`,text:`~~crossed `},{type:`text_delta`,text:`out `},{type:`text_delta`,text:`words~~, `},{type:`text_delta`,text:"`inline "},{type:`text_delta`,text:"code`, "},{type:`text_delta`,text:`a `},{type:`text_delta`,text:`[link](https://pubmed.ncbi.nlm.nih.gov/) `},{type:`text_delta`,text:`and `},{type:`text_delta`,text:`a `},{type:`text_delta`,text:`line
`},{type:`text_delta`,text:`break `},{type:`text_delta`,text:`that `},{type:`text_delta`,text:`is `},{type:`text_delta`,text:`none.

`},{type:`text_delta`,text:`- `},{type:`text_delta`,text:`A `},{type:`text_delta`,text:`list
`},{type:`text_delta`,text:`  - `},{type:`text_delta`,text:`with `},{type:`text_delta`,text:`a `},{type:`text_delta`,text:`list `},{type:`text_delta`,text:`inside
`},{type:`text_delta`,text:`    - `},{type:`text_delta`,text:`and `},{type:`text_delta`,text:`one `},{type:`text_delta`,text:`more
`},{type:`text_delta`,text:`- `},{type:`text_delta`,text:`and `},{type:`text_delta`,text:`an `},{type:`text_delta`,text:`item `},{type:`text_delta`,text:`of `},{type:`text_delta`,text:`two `},{type:`text_delta`,text:`paragraphs

`},{type:`text_delta`,text:`  of `},{type:`text_delta`,text:`which `},{type:`text_delta`,text:`this `},{type:`text_delta`,text:`is `},{type:`text_delta`,text:`the `},{type:`text_delta`,text:`second.

`},{type:`text_delta`,text:`1. `},{type:`text_delta`,text:`First
`},{type:`text_delta`,text:`2. `},{type:`text_delta`,text:`Second
`},{type:`text_delta`,text:`3. `},{type:`text_delta`,text:`Third

`},{type:`text_delta`,text:`- `},{type:`text_delta`,text:`[x] `},{type:`text_delta`,text:`done
`},{type:`text_delta`,text:`- `},{type:`text_delta`,text:`[ `},{type:`text_delta`,text:`] `},{type:`text_delta`,text:`to `},{type:`text_delta`,text:`do

`},{type:`text_delta`,text:`> `},{type:`text_delta`,text:`A `},{type:`text_delta`,text:`quotation, `},{type:`text_delta`,text:`with `},{type:`text_delta`,text:`**strong `},{type:`text_delta`,text:`words**
`},{type:`text_delta`,text:`> `},{type:`text_delta`,text:`over `},{type:`text_delta`,text:`two `},{type:`text_delta`,text:`lines.

`},{type:`text_delta`,text:`| `},{type:`text_delta`,text:`Left `},{type:`text_delta`,text:`| `},{type:`text_delta`,text:`Middle `},{type:`text_delta`,text:`| `},{type:`text_delta`,text:`Right `},{type:`text_delta`,text:`|
`},{type:`text_delta`,text:`|:---|:---:|---:|
`},{type:`text_delta`,text:`| `},{type:`text_delta`,text:`a `},{type:`text_delta`,text:`| `},{type:`text_delta`,text:`b `},{type:`text_delta`,text:`| `},{type:`text_delta`,text:`1 `},{type:`text_delta`,text:`|
`},{type:`text_delta`,text:`| `},{type:`text_delta`,text:`long `},{type:`text_delta`,text:`cell `},{type:`text_delta`,text:`with `},{type:`text_delta`,text:"`code` "},{type:`text_delta`,text:`| `},{type:`text_delta`,text:`**b** `},{type:`text_delta`,text:`| `},{type:`text_delta`,text:`1,000 `},{type:`text_delta`,text:`|
`},{type:`text_delta`,text:`| `},{type:`text_delta`,text:`a `},{type:`text_delta`,text:`pipe `},{type:`text_delta`,text:`\\| `},{type:`text_delta`,text:`in `},{type:`text_delta`,text:`a `},{type:`text_delta`,text:`cell `},{type:`text_delta`,text:`| `},{type:`text_delta`,text:`– `},{type:`text_delta`,text:`| `},{type:`text_delta`,text:`−5 `},{type:`text_delta`,text:`|

`},{type:`text_delta`,text:"```go\n"},{type:`text_delta`,text:`// `},{type:`text_delta`,text:`Hello `},{type:`text_delta`,text:`says `},{type:`text_delta`,text:`hello.
`},{type:`text_delta`,text:`func `},{type:`text_delta`,text:`Hello(name `},{type:`text_delta`,text:`string) `},{type:`text_delta`,text:`string `},{type:`text_delta`,text:`{
	`},{type:`text_delta`,text:`return `},{type:`text_delta`,text:`"Hello, `},{type:`text_delta`,text:`" `},{type:`text_delta`,text:`+ `},{type:`text_delta`,text:`name `},{type:`text_delta`,text:`+ `},{type:`text_delta`,text:`"!"
`},{type:`text_delta`,text:`}
`},{type:`text_delta`,text:"```\n\n"},{type:`text_delta`,text:"```json\n"},{type:`text_delta`,text:`{"marker": `},{type:`text_delta`,text:`"SUGGESTED_VALUES: `},{type:`text_delta`,text:`[\\"inside `},{type:`text_delta`,text:`a `},{type:`text_delta`,text:`fence `},{type:`text_delta`,text:`it `},{type:`text_delta`,text:`is `},{type:`text_delta`,text:`text\\"]"}
`},{type:`text_delta`,text:"```\n\n"},{type:`text_delta`,text:`---

`},{type:`text_delta`,text:`A `},{type:`text_delta`,text:`very `},{type:`text_delta`,text:`long `},{type:`text_delta`,text:`word: `},{type:`text_delta`,text:`Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft.

`},{type:`text_delta`,text:`Other `},{type:`text_delta`,text:`scripts: `},{type:`text_delta`,text:`العربية `},{type:`text_delta`,text:`من `},{type:`text_delta`,text:`اليمين `},{type:`text_delta`,text:`إلى `},{type:`text_delta`,text:`اليسار `},{type:`text_delta`,text:`· `},{type:`text_delta`,text:`中文没有空格 `},{type:`text_delta`,text:`· `},{type:`text_delta`,text:`हिन्दी `},{type:`text_delta`,text:`· `},{type:`text_delta`,text:`emoji `},{type:`text_delta`,text:`👩‍🔬🧬.

`},{type:`text_delta`,text:`What `},{type:`text_delta`,text:`must `},{type:`text_delta`,text:`stay `},{type:`text_delta`,text:`text: `},{type:`text_delta`,text:`<script>alert("no")<\/script>, `},{type:`text_delta`,text:`[a `},{type:`text_delta`,text:`dead `},{type:`text_delta`,text:`link](javascript:alert(1)), `},{type:`text_delta`,text:`a `},{type:`text_delta`,text:`tool `},{type:`text_delta`,text:`marker `},{type:`text_delta`,text:`[\\[tool:0]].


`},{type:`complete`,payload:{message:`I am the built-in **demo model**: rules instead of a language model, but real tools, documents and approvals. Try \`help\`.

# Heading one

## Heading two

### Heading three

A paragraph with *emphasis*, **strong words**, ~~crossed out words~~, \`inline code\`, a [link](https://pubmed.ncbi.nlm.nih.gov/) and a line
break that is none.

- A list
  - with a list inside
    - and one more
- and an item of two paragraphs

  of which this is the second.

1. First
2. Second
3. Third

- [x] done
- [ ] to do

> A quotation, with **strong words**
> over two lines.

| Left | Middle | Right |
|:---|:---:|---:|
| a | b | 1 |
| long cell with \`code\` | **b** | 1,000 |
| a pipe \\| in a cell | – | −5 |

\`\`\`go
// Hello says hello.
func Hello(name string) string {
	return "Hello, " + name + "!"
}
\`\`\`

\`\`\`json
{"marker": "SUGGESTED_VALUES: [\\"inside a fence it is text\\"]"}
\`\`\`

---

A very long word: Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft.

Other scripts: العربية من اليمين إلى اليسار · 中文没有空格 · हिन्दी · emoji 👩‍🔬🧬.

What must stay text: <script>alert("no")<\/script>, [a dead link](javascript:alert(1)), a tool marker [\\[tool:0]].`,suggested_values:[{label:`help`,value:`help`}],conversation_id:1,chat_id:`CHAT1`,message_id:`MSG2`,run_id:`RUN1`,stop_reason:`end_turn`,usage:{input_tokens:1688,output_tokens:321,total_tokens:2009}}}],i={name:e,message:t,messages:n,chat:r};export{r as chat,i as default,t as message,n as messages,e as name};