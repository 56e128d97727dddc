// What a resolver answers where a file cannot be had: the texts of the original (CI-5).

export const noLocalFile = (path: string) => `Local file \`${path}\` does not exist!`
export const emptyLocalFile = (path: string) => `Local file \`${path}\` is empty!`
export const noProject = (project: string) =>
  `Project \`${project}\` not found or access denied! Make sure any includes in the pipeline configuration are correctly defined.`
export const noReference = (project: string, ref: string) => `Project \`${project}\` reference \`${ref}\` does not exist!`
export const noProjectFile = (project: string, path: string) => `Project \`${project}\` file \`${path}\` does not exist!`
export const emptyProjectFile = (project: string, path: string) => `Project \`${project}\` file \`${path}\` is empty!`
export const noTemplate = (name: string) => `Template file \`${name}\` is not a valid location!`
export const remoteStatus = (url: string, status: number) => `Remote file \`${url}\` could not be fetched because of HTTP code \`${status}\` error!`
export const remoteTimeout = (url: string) => `Remote file \`${url}\` could not be fetched because of a timeout error!`
export const remoteFailure = (url: string) => `Remote file \`${url}\` could not be fetched because of HTTP error!`
export const remoteRefused = (url: string) => `Remote file \`${url}\` is not allowed to be fetched by this server!`
export const badAddress = (url: string) => `Remote file \`${url}\` does not have a valid address!`
export const noOwnProject = (path: string) => `Local file \`${path}\` does not have project!`
export const NO_COMPARE_TO = 'rules:changes:compare_to is not a valid ref'
/** As for the file itself. */
export const TOO_LARGE = 'The YAML file is too large: at most 1 MB is read'
