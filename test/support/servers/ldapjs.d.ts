/** What the tests use of ldapjs, whose published types are those of another version. */
declare module 'ldapjs' {
  interface Name {
    toString(): string
  }
  interface Request {
    dn: Name
    connection: { ldap: { bindDN: Name } }
  }
  interface Response {
    send(entry: { dn: string; attributes: object }): void
    end(): void
  }
  type Handler<More> = (request: Request & More, response: Response, next: (error?: Error) => void) => void
  interface Server {
    url: string
    bind(base: string, handler: Handler<{ credentials: string }>): void
    search(base: string, handler: Handler<{ scope: unknown; filter: { matches(entry: object): boolean; toString(): string } }>): void
    listen(port: number, host: string, done: () => void): void
    close(done: () => void): void
  }
  export function createServer(options?: { certificate?: string; key?: string }): Server
  export class BusyError extends Error {}
  export class InvalidCredentialsError extends Error {}
  export class InsufficientAccessRightsError extends Error {}
  export class NoSuchObjectError extends Error {}
}
