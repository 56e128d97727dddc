import { expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aProject, aUser } from '../../support/factories.js'
import { getIntrospectionQuery } from 'graphql'
const t = testApp()
it('smoke', async () => {
  const project = await aProject(t.ctx)
  const ask = async (query: string, variables = {}, who: any = project.creator) => (await fetch(`${t.url}/api/graphql`, { method: 'POST', headers: { 'content-type': 'application/json', ...(who && { authorization: `Bearer ${who.token}` }) }, body: JSON.stringify({ query, variables }) }))
  let r = await ask('{ currentUser { id username active publicEmail avatarUrl webUrl state } metadata { version enterprise kas { enabled } } }')
  console.log(r.status, await r.text())
  r = await ask('query($p: ID!) { project(fullPath: $p) { id name fullPath webUrl wikiEnabled repository { rootRef empty } userPermissions { pushCode adminOperations } group { id } mergeRequests(first: 1) { count nodes { id } pageInfo { endCursor hasNextPage } } issues { nodes { id } } labels { nodes { title } } pipelines { count } projectMembers { nodes { id user { username } accessLevel { stringValue } } } } projects(membership: true) { nodes { fullPath } } users(search: "a") { nodes { username } } groups { nodes { fullPath } } }', { p: project.fullPath })
  console.log(r.status, JSON.stringify(await r.json(), null, 1))
  let s = performance.now()
  r = await ask(getIntrospectionQuery()); const text = await r.text()
  console.log(r.status, text.length, performance.now() - s, text.slice(0, 300))
  s = performance.now(); await (await ask(getIntrospectionQuery())).text(); console.log(performance.now() - s)
  r = await ask('mutation { x }'); console.log(r.status, await r.text())
  r = await ask('{ nope }'); console.log(r.status, await r.text())
  r = await ask('{ currentUser { id } }', {}, { token: 'bad' }); console.log(r.status, await r.text())
  r = await ask('{ currentUser { id } metadata { version } }', {}, null); console.log(r.status, await r.text())
})
