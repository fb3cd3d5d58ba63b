// The service is another process; in production a proxy does what these rewrites do.
const service = process.env.SERVICE_URL ?? 'http://127.0.0.1:8080'

export default {
  // Answers are streamed: compression would hold them back.
  compress: false,
  rewrites: async () => [{ source: '/api/:path*', destination: `${service}/api/:path*` }],
}
