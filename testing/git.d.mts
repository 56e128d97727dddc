export * from './git.d.cts'
