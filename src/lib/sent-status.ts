import type { ServerResponse } from 'node:http'

/** Status of nginx and other proxies for a client that closed the connection. */
const CLIENT_CLOSED = 499

/** The status sent to the client; 499 if the client left before the response. */
export const sentStatus = ({ headersSent, statusCode }: ServerResponse): number => (headersSent ? statusCode : CLIENT_CLOSED)
