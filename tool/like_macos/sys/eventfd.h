#error "macOS has no such header"
