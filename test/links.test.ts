import { describe, expect, it } from 'vitest'
import { linksFor } from '../src/links.js'

describe('clone URLs for SSH (GS-1)', () => {
  const ssh = (port: number | null, publicHost?: string, publicPort?: number, base = 'https://git.example.com:8443/roost') =>
    linksFor(base, { port, publicHost, publicPort }).ssh('group/sub/project')

  it('name a port unless it is the usual one', () => {
    expect(ssh(2222)).toBe('ssh://git@git.example.com:2222/group/sub/project.git')
    expect(ssh(22)).toBe('git@git.example.com:group/sub/project.git')
    expect(ssh(2222, undefined, undefined, 'http://[::1]:8080')).toBe('ssh://git@[::1]:2222/group/sub/project.git')
  })

  it('follow the public address', () => {
    expect(ssh(2222, 'ssh.example.com', 22)).toBe('git@ssh.example.com:group/sub/project.git')
    expect(ssh(2222, '2001:db8::1')).toBe('ssh://git@[2001:db8::1]:2222/group/sub/project.git')
    expect(ssh(2222, undefined, 2022)).toBe('ssh://git@git.example.com:2022/group/sub/project.git')
  })

  it('are HTTP addresses while SSH is off and no other server is named', () => {
    expect(ssh(null)).toBe('https://git.example.com:8443/roost/group/sub/project.git')
    expect(ssh(null, undefined, 22)).toBe('git@git.example.com:group/sub/project.git')
    expect(ssh(null, 'ssh.example.com')).toBe('git@ssh.example.com:group/sub/project.git')
    expect(ssh(null, 'ssh.example.com', 2022)).toBe('ssh://git@ssh.example.com:2022/group/sub/project.git')
  })
})
