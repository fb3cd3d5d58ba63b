// The service is another process; in production a proxy does what these rewrites do.
const service = process.env.SERVICE_URL ?? 'http://127.0.0.1:8080'

export default {
  // As a fallback: the application's own routes below /api come first.
  rewrites: async () => ({ fallback: [{ source: '/api/:path*', destination: `${service}/api/:path*` }] }),
}
