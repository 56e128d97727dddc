import type { Links } from '../../../links.js'
import type { PackageRecord } from '../../../services/packages/packages.js'
import { t } from '../../language/language.js'

type Commands = readonly (readonly [title: string, commands: readonly string[]])[]

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
const hostOf = (url: string) => url.replace(/^https?:/, '')

/** How each format is published to a project (PK-60). */
export function publishing(links: Pick<Links, 'api'>, project: number): Commands {
  const api = links.api(`/projects/${project}/packages`)
  return [
    [t('Any file'), [`curl --header "PRIVATE-TOKEN: $TOKEN" --upload-file app.zip ${api}/generic/app/1.0.0/app.zip`]],
    ['npm', [`npm config set ${quoted(`${hostOf(api)}/npm/:_authToken`)} "$TOKEN"`, `npm publish --registry ${api}/npm/`]],
    [t('Python'), [`twine upload --repository-url ${api}/pypi -u __token__ -p "$TOKEN" dist/*`]],
    ['NuGet', [nugetSource(api), 'dotnet nuget push app.1.0.0.nupkg --source roost']],
    [t('Maven'), [`mvn deploy -DaltDeploymentRepository=roost::default::${api}/maven`]],
  ]
}

const nugetSource = (api: string) =>
  `dotnet nuget add source ${api}/nuget/index.json --name roost --username token --password "$TOKEN" --store-password-in-clear-text`

/** How one version is installed (PK-60). */
export function installing(links: Pick<Links, 'api'>, { type, name, version, project }: PackageRecord, file: string | undefined): Commands {
  const api = links.api(`/projects/${project.id}/packages`)
  switch (type) {
    case 'generic':
      return file === undefined
        ? []
        : [[t('Fetch'), [`curl --header "PRIVATE-TOKEN: $TOKEN" --remote-name ${api}/generic/${name}/${version}/${file}`]]]
    case 'npm': {
      const scope = /^(@[^/]+)\//.exec(name)?.[1]
      return [[t('Install'), [`npm install ${name}@${version} --${scope ? `${scope}:` : ''}registry=${api}/npm/`]]]
    }
    case 'pypi':
      return [[t('Install'), [`pip install ${name}==${version} --index-url ${api.replace(/^(https?:\/\/)/, '$1__token__:$TOKEN@')}/pypi/simple`]]]
    case 'nuget':
      return [[t('Install'), [nugetSource(api), `dotnet add package ${name} --version ${version} --source roost`]]]
    case 'maven': {
      const slash = name.lastIndexOf('/')
      const coordinates = `${name.slice(0, Math.max(slash, 0)).replaceAll('/', '.')}:${name.slice(slash + 1)}:${version}`
      return version === '' ? [] : [[t('Fetch'), [`mvn dependency:get -Dartifact=${coordinates} -DremoteRepositories=roost::default::${api}/maven`]]]
    }
  }
}
