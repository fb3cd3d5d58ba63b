export function IconButton({ label, pressed, children, ...rest }: { label: string; pressed?: boolean } & React.ComponentProps<'button'>) {
  return <button type="button" className="ct-icon-button" aria-label={label} title={label} aria-pressed={pressed} {...rest}>{children}</button>
}
