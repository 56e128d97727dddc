// The `ssh` command of git, on the client of ssh2: `node ssh-command.mjs KEYFILE [options] git@host command`.
import { readFileSync } from 'node:fs'
import ssh2 from 'ssh2'

const [keyFile, ...words] = process.argv.slice(2)
let port = 22
let sendsProtocol = false
while (words[0]?.startsWith('-')) {
  const option = words.shift()
  if (option === '-p') port = Number(words.shift())
  else if (option === '-o') sendsProtocol = words.shift() === 'SendEnv=GIT_PROTOCOL' || sendsProtocol
}
const [username, host] = words.shift().split('@')
const env = sendsProtocol && process.env.GIT_PROTOCOL ? { GIT_PROTOCOL: process.env.GIT_PROTOCOL } : undefined
const client = new ssh2.Client()
const fail = (error) => {
  process.stderr.write(`ssh: ${error.message}\n`)
  process.exit(255)
}
client.on('error', fail)
client.on('ready', () => {
  client.exec(words.join(' '), { env }, (error, channel) => {
    if (error) return fail(error)
    let code = 255
    channel.on('exit', (given) => (code = given))
    channel.on('close', () => {
      client.end()
      process.exitCode = code
    })
    process.stdin.pipe(channel)
    channel.pipe(process.stdout)
    channel.stderr.pipe(process.stderr)
    channel.on('close', () => process.stdin.destroy())
  })
})
client.connect({ host, port, username, privateKey: readFileSync(keyFile) })
