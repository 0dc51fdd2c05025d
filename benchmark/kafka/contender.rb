# frozen_string_literal: true

require "json"
require "open3"
require "rbconfig"
require "rdkafka"
require "tmpdir"

# Runs a contender in a process of its own and reads its result.
class Contender
  FOLDER = __dir__

  # @param script [String] its file; consumer.c is built first
  # @param mode [String]
  # @param environment [Hash{String=>#to_s, nil}] nil: not set
  def initialize(script, mode, environment = {})
    @script = script
    @mode = mode
    @environment = environment.transform_values { |value| value&.to_s }
  end

  # @return [Hash{String=>Object}] rate: messages a second; sum; peak_kb; and what the mode measures
  def run(servers, topic, count)
    out, err, status = Open3.capture3(@environment, *command(servers, topic, count))
    abort("#{@script} #{@mode} on #{topic}: #{status}\n#{err}\n#{out}") unless status.success?
    ::JSON.parse(out.lines.last)
  end

  private

  def command(servers, topic, count)
    return [compiled, servers, topic, count.to_s, "bench-c-#{Process.pid}-#{rand(1_000_000)}"] if @script.end_with?(".c")

    [RbConfig.ruby, *("--yjit" if yjit?), File.join(FOLDER, @script), servers, topic, count.to_s, @mode]
  end

  def yjit?
    defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?
  end

  def compiled
    @compiled ||= begin
      target = File.join(Dir.mktmpdir, "consumer")
      library = Rdkafka::Bindings.ffi_libraries.first.name
      system("cc", "-O2", "-o", target, File.join(FOLDER, @script), library, "-Wl,-rpath,#{File.dirname(library)}", "-lm", exception: true)
      target
    end
  end
end
