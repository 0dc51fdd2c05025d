# frozen_string_literal: true

# Precompiled gems; runs in the containers of rake-compiler-dock: see `rake release:native`.
require "rake/extensiontask"

{"guildhall" => %w[guildhall guildhall], "guildhall-kafka" => %w[guildhall_kafka guildhall/kafka]}.each do |gem, (extension, folder)|
  specification = Gem::Specification.load("#{gem}.gemspec")
  Gem::PackageTask.new(specification) { |task| task.need_tar = false }
  Rake::ExtensionTask.new("native", specification) do |task|
    task.ext_dir = "ext/#{extension}"
    task.lib_dir = "lib/#{folder}"
    task.cross_compile = true
    # Without symbols: a fifth of the size. ld64, of macOS, has no such option.
    task.config_options << "--with-dldflags=-s" unless ENV.fetch("RCD_PLATFORM", RUBY_PLATFORM).include?("darwin")
    task.cross_platform = ENV.fetch("RCD_PLATFORM", RUBY_PLATFORM)
    task.cross_compiling do |precompiled|
      # One library for each Ruby: lib/guildhall/4.0/native.so. lib/guildhall/native.rb finds it; of the other gem only precompiled ones
      # need such a file.
      loader = "lib/#{folder}/native.rb"
      next if specification.files.include?(loader)

      File.write(loader, "require \"#{folder}/\#{RUBY_VERSION[/\\d+\\.\\d+/]}/native\"\n")
      precompiled.files << loader
    end
  end
end
