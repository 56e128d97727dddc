import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

/** SHA-256 of each migration. They never change: databases have applied them. A new one is added here. */
const FROZEN = {
  '0000_initial': '2e03b9548e3345ddb568102a4e71cb69ccf153ccdf59812ff477db7260bbc311',
  '0001_storage_access': '07d26d252258aa821900f37dcce493060252444775020d49b2866ea75bab81cf',
  '0002_deletion': '425de152a5927ee86516fa639e5d52cbd5b72de9839bf09918111231e57ac7ab',
  '0003_secret_key': '698d73acb7e28b835125266a9e712fa9faac91d3a16f3e2a903f7f36f833ac5e',
  '0004_token_parents': '7386690fd41fbc16c4c9e61ac9b8be7f4815ee38cf7c77bb3126351ffb4ce220',
  '0005_hook_chain': '6bc3ecbadb966abf0a32ef1cbcf9a44af5a05c8c92284c43742a0af6cd033a1c',
  '0006_outbox': 'd2861b4b889fb1b64af384dfb138e93f76bf2424cca32b21efc30d83f9a89111',
  '0007_merge_methods': 'de0a5ef887cab10e527aad0c73d7c05b23f6df32f9f552ff97d9cbbd33f96edb',
  '0008_reviewers_approvals': '9dacd68d820e4324a4c159f908a2f45e3857d49ada26f9d65f100da6d0e58457',
  '0009_attributes': 'f46830eb875b7d0ae19612c73fcd5f55649550fbed9fe8388900bf78ba4546d2',
  '0010_sign_in': '9da8acb43c856d3bc5073f575ecd74012b933b969a84111a78151c55821878bc',
  '0011_list_filters': '48a2510ed36b843321cd5cce2df848faefe7ed5a9ca5183ed3247b8ac176319d',
  '0012_second_factor': '608511607e8ad455f9281d6354db0565d5dcbda16295f2536f0b05efd0ebf8c2',
  '0013_oauth_provider': 'c94a22a8c6c44856aaaad6e35ac625cdbde8511a2658c637d259b22651a532cc',
  '0014_single_sign_on': '214841aa49cec80922bea6d4bdb4180de9e3ee18d4122f38d228ebe927dfc3c8',
  '0015_reviews': '14d69bc04f87ed8734a965b68609dae8eff6fc8bf02df0c052e0c5cca84d9f07',
  '0016_administration': '9405720aa92af0055c88048b56ddc0aa78926a18ac9ab8b0a1287bfd6cd72201',
  '0017_instance_settings': '76f207bedb67a5dc7478069dfa68720350044cc1bf7667a068ba8d8a8ffda1de',
  '0018_feed_tokens': '68a750872a8c7db6fbb53020b5f7fcbdb9421b99e72ec0cf01d645a291b2f699',
  '0019_group_shares': '0bb6a090aa09cb76cce3c39befcab3a9b60c2c1dd79549cfb19eb7049473dcc3',
  '0020_list_orders': '897f9a6ab869190591589d645631f7abfc002612a63ccd7b343265ce37c22f9f',
  '0021_account_addresses': 'c1defcaa7be48f5097e0017b8be5369a3689eb8704612d39917351fe21314d0c',
  '0022_wiki_repositories': '4122e6f33fdd0389999c1b708ca42353f81fd97c3075f4c489d22b92d57a9eda',
  '0023_projects_of_namespaces': 'a2e8c22d55087153cc0ec387688fe69cf38e9506d8ad700da6ded075daa24c42',
  '0024_boards': '0f02de34e553c0213d52e023e765a411e3f7c5c7e4d6dd2e430d82959bcd5a51',
  '0025_reviews': '68bec53a00ae565421e0a1bed363d703f42eb95964fc1c4fa6d44dd3d372efd8',
  '0026_ci': '18d686fe9e0aad2377767737d503e32c14eaff30479cce6628b9b8679d6e1ebe',
  '0027_pending_tags': '0718a96957946f27b7a73dd6346afb9c23ff0864c2595d8c10fb0c77dd770c56',
  '0028_deployments': '2c04a57370be868bdf506fd21fd9f041178535cb0541473e211de912bbbf4cb5',
  '0029_variables_and_reports': '0faec48d157e1f3f2b597047a3dc4f1e10d771c86230611c27b4c6c42b857306',
  '0030_auto_cancel': '21efea0d3529c8bf5ee81662539220fe14231740510b853482a018eef2f73798',
  '0031_merge_request_pipelines': '0f99d59759d815c1555b4f61a02cb8757827656f438b4a63d79230e59e36fe58',
  '0032_schedules_and_triggers': '41278f6a39f28079133a08eaade4bd3190df77696e71be643628fbb232bbc558',
  '0033_project_fields': '9d00567c846722f678d35641ac1549ce5d253c7a15e65141dc8f84071fe7ba9a',
  '0034_badges': '7f7677cfe76c8aabeed189060491e130fb9a9c350f363f73711217143e3b96f8',
  '0035_bots_and_resource_events': '112dce22b0177ee02a4d21df60cef949cf84721d76bc8ba11b6809af9dd043b4',
  '0036_packages': '2c802ce075f90992a514b8d3595d2f9cf4937b83d93cc8efb5efda362968e88c',
  '0037_variable_descriptions': 'cf786e0e73d9e30a69d7ef273347c75c8e8984af9e28fcce7f1ae0038127e368',
  '0038_mirrors': '7150f32f6521e4fa8f301170ecc1e5fdc13a180e70af5c04a44f4b9bd78bcbb9',
  '0039_project_fetches': '341903dd6e01c2bc456b9c6659064d1e1bed2987980a2f3d3908aeca184e14dc',
  '0040_integrations': '66ce0e9b2cbf6a69cd72a32517b1e2f21592cfb2f9763e387970911896a1bb9f',
  '0041_flags_and_topics': '9dd8be83cb65047680439f2a55535914545b8f2f00abdd069fc902dab66fe901',
  '0042_several_people': 'cfc9848b636205213456c54ce384fdcd9c640474f83909c24fe493c5a753a512',
  '0043_received_mails': '6e553ab0ee0e1021606e3b7134ffb789099e1a0cb6562384f9c7c4aa12936e07',
  '0044_invitations': '71597bb26d910282b33e2c10500d4e1def2a14768f7fb4669bc78b6e713c7505',
  '0045_container_registry': 'b254e53d00454afb552ec7e0633dd7765c83e89781fd2643619b64c6f46e9cd5',
  '0046_protected_environments': 'e8860663fa5830d804cf902fba572655abf2b61c125b8c94818fbd77e8d6a44d',
  '0047_container_expiration': '9c8629002fc6ead51a60f115238b2b632114b965a06273041172a07c28c717c2',
  '0048_preferred_language': '162fba74ec7be771cb2f25f5acf09dc104e5f3a32d62d5e439d5fe27d7abd1cb',
  '0049_package_protection': 'b6b2ce5307009de6a56849aee34eed36bbb05a0a01bda8e9e4e735aab0f82ae3',
}

describe('migrations', () => {
  const journal = JSON.parse(readFileSync('migrations/meta/_journal.json', 'utf8')) as { entries: { tag: string; when: number }[] }

  it('are those that databases have applied, and new ones after them (SEC-161)', () => {
    const hash = (tag: string) =>
      createHash('sha256')
        .update(readFileSync(`migrations/${tag}.sql`))
        .digest('hex')
    expect(journal.entries.map(({ tag }) => [tag, hash(tag)])).toEqual(Object.entries(FROZEN))
  })

  it('keep the newest snapshot of the schema alone, which the next one is compared with', () => {
    const { tag } = journal.entries.at(-1) ?? expect.fail('no migrations')
    expect(readdirSync('migrations/meta').filter((name) => name.includes('snapshot'))).toEqual([`${tag.slice(0, 4)}_snapshot.json`])
  })

  it('are applied in their order: each is newer than the one before it', () => {
    const times = journal.entries.map(({ when }) => when)
    expect(times).toEqual([...new Set(times)].sort((a, b) => a - b))
    expect(times.slice(0, 6)).toEqual([10, 20, 30, 40, 50, 60].map((n) => 1_795_720_000_000 + n))
  })
})
