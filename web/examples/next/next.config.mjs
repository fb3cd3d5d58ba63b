// The service runs beside the page; in production a proxy does what this one does here.
const service = process.env.SERVICE_URL ?? 'http://127.0.0.1:8080'

export default {
  // Answers stream: nothing may be held back to compress it.
  compress: false,
  rewrites: async () => [{ source: '/api/:path*', destination: `${service}/api/:path*` }],
}
