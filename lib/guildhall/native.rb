# frozen_string_literal: true

# Loads the C extension: the one of a precompiled gem for this Ruby, else the one that was compiled here.
ruby = RUBY_VERSION[/\A\d+\.\d+/]
begin
  require File.directory?(File.join(__dir__, ruby)) ? "guildhall/#{ruby}/native.so" : "guildhall/native.so"
rescue LoadError => error
  raise LoadError, "#{error.message}: the C extension of Guildhall is not built for this Ruby. Run `gem pristine guildhall`; in a " \
                   "checkout, bin/setup builds it and `bin/console FILE` runs code with it", cause: nil
end
