/**
 * The part of Standard Schema version 1 (https://standardschema.dev) that this package uses; zod, valibot and arktype implement it:
 * a validator with the types of its input and its output.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    /** Of libraries that also have Standard JSON Schema. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown> }
  }
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The output type of a schema. */
export type OutputOf<S extends StandardSchema> = NonNullable<S['~standard']['types']>['output']

/** The issues of a value, in one line. */
export function issueWords(issues: readonly SchemaIssue[]): string {
  return issues.map(({ message, path = [] }) => {
    const place = path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.')
    return place ? `${place}: ${message}` : message
  }).join('; ')
}
