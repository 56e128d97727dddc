import type { Server } from './server.js'

export interface ServerOptions {
  /** False trades durability for speed. */
  durable: boolean
  /** Keeps less in memory, and takes a sixth more of the processor. */
  compact: boolean
  /** The minimum of `max_connections`. */
  connections: number
  /** Called when the process has been started. */
  onLaunch?: (() => void) | undefined
}

/** Connections that Postgres reserves for superusers by default. */
const SUPERUSER_CONNECTIONS = 3

/** The settings of Postgres as arguments: for a small machine, reached through a socket only. */
export function settings(server: Server, sockets: string, { durable, compact, connections }: ServerOptions): string[] {
  const values: Record<string, string | number> = {
    listen_addresses: '',
    unix_socket_directories: sockets,
    unix_socket_permissions: '0700',
    port: 5432,
    max_connections: Math.max(durable ? 60 : 200, connections + SUPERUSER_CONNECTIONS),
    shared_buffers: compact ? '8MB' : '32MB',
    wal_buffers: '1MB',
    min_wal_size: '32MB',
    max_wal_size: '256MB',
    work_mem: '4MB',
    maintenance_work_mem: '32MB',
    effective_cache_size: '512MB',
    random_page_cost: 1.1,
    max_worker_processes: 2,
    max_parallel_workers: 0,
    max_parallel_workers_per_gather: 0,
    autovacuum_max_workers: 1,
    wal_level: 'minimal',
    max_wal_senders: 0,
    max_logical_replication_workers: 0,
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_min_messages: 'warning',
    // errors are reported to the caller; the text of statements may contain secrets (SEC-167)
    log_min_error_statement: 'panic',
    logging_collector: 'off',
    log_destination: 'stderr',
    synchronous_commit: durable ? 'on' : 'off',
    fsync: durable ? 'on' : 'off',
    full_page_writes: durable ? 'on' : 'off',
  }
  if (server.major >= 18) values['io_method'] = 'sync'
  if (!durable) values['autovacuum'] = 'off'
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}
