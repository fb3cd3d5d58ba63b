// The clients of OpenAI's APIs, each with the same few methods. Only the one that is asked
// for is loaded: they are large.
const kinds = {
  completions: async () => (await import('./openai-completions.mjs')).Completions,
  compatible: async () => (await import('./openai-aisdk.mjs')).Compatible,
  responses: async () => (await import('./openai-responses.mjs')).Responses,
  agents: async () => (await import('./openai-agents.mjs')).Agents,
  provider: async () => (await import('./openai-aisdk.mjs')).Provider,
  langchain: async () => (await import('./openai-langchain.mjs')).LangChain,
  'langchain responses': async () => (await import('./openai-langchain.mjs')).LangChainResponses,
}
export const open = async (kind, url, id) => new (await kinds[kind]())(url, id)
