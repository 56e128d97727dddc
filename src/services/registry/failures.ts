/** The codes of the distribution specification that are used here. */
export type RegistryCode =
  | 'BLOB_UNKNOWN'
  | 'BLOB_UPLOAD_INVALID'
  | 'BLOB_UPLOAD_UNKNOWN'
  | 'DENIED'
  | 'DIGEST_INVALID'
  | 'MANIFEST_BLOB_UNKNOWN'
  | 'MANIFEST_INVALID'
  | 'MANIFEST_UNKNOWN'
  | 'NAME_INVALID'
  | 'NAME_UNKNOWN'
  | 'SIZE_INVALID'
  | 'TOOMANYREQUESTS'
  | 'UNAUTHORIZED'
  | 'UNSUPPORTED'

/** A refusal in the shape that clients of registries read. */
export class RegistryFailure extends Error {
  override name = 'RegistryFailure'
  constructor(
    readonly status: number,
    readonly code: RegistryCode,
    message: string,
    readonly headers: Record<string, string> = {},
  ) {
    super(message)
  }
}

export const blobUnknown = () => new RegistryFailure(404, 'BLOB_UNKNOWN', 'the repository has no such blob')
export const manifestUnknown = () => new RegistryFailure(404, 'MANIFEST_UNKNOWN', 'the repository has no such manifest')
export const digestInvalid = (what = 'the digest is not that of the content') => new RegistryFailure(400, 'DIGEST_INVALID', what)
export const nameUnknown = () => new RegistryFailure(404, 'NAME_UNKNOWN', 'there is no such repository')
