# frozen_string_literal: true

module Guildhall
  # Loads a gem's C extension. A precompiled gem has one for each version of Ruby that was released before it, in a folder named after that;
  # else there is one that was compiled where the gem was installed.
  # @api private
  module Extension
    # @param gem [String] guildhall-kafka: its extension is guildhall/kafka/native
    # @param folder [String] where a precompiled gem has its libraries
    # @raise [LoadError] with what to do
    def self.load(gem, folder)
      versions = Dir["[0-9]*", base: folder].sort
      require [gem.tr("-", "/"), *(RUBY_VERSION[/\A\d+\.\d+/] if versions.any?), "native.so"].join("/")
    rescue LoadError => error
      raise LoadError, "#{error.message}: #{versions.any? ? precompiled(gem, versions) : compiled(gem)}", cause: nil
    end

    # For a Ruby, or with a C library, that it was not compiled for.
    def self.precompiled(gem, versions)
      "the C extension of Guildhall is precompiled in this gem, for Ruby #{versions.join(" and ")}. To compile it, run " \
        "`gem uninstall #{gem}` and `gem install --platform ruby #{gem}`; with Bundler, `bundle config set force_ruby_platform true` " \
        "and `bundle install`"
    end

    def self.compiled(gem)
      "the C extension of Guildhall is not built for this Ruby. Run `gem pristine #{gem}`; in a checkout, bin/setup builds it and " \
        "`bin/console FILE` runs code with it"
    end
    private_class_method :precompiled, :compiled
  end
end
