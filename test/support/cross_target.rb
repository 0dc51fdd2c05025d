# frozen_string_literal: true

require "etc"

# Machines and C libraries that this one has not, as far as compilers for them are there; programs for another processor run under
# an emulator.
CrossTarget = Data.define(:name, :compiler, :emulator, :flags, :packages) do
  # @return [Array<String>] programs that are not here
  def missing = [compiler, *emulator].reject { |program| found?(program) }

  # @return [String] why nothing is run, and what to do about it
  def reason = "no #{missing.join(" and no ")}: on Debian, apt-get install #{packages}"

  private

  def found?(program) = ENV.fetch("PATH").split(":").any? { |folder| File.executable?(File.join(folder, program)) }
end

# Those that there are; `flags` are what extconf.rb finds there.
class CrossTarget
  ALL = [
    new(name: "aarch64", compiler: "aarch64-linux-gnu-gcc", emulator: %w[qemu-aarch64], flags: %w[-DGUILDHALL_FUTEX -DGUILDHALL_TIMERFD],
      packages: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"),
    # Has neither glibc's functions nor the kernel's headers.
    new(name: "musl", compiler: "musl-gcc", emulator: [], flags: [], packages: "musl-tools")
  ].freeze

  # Defines one test for each of them.
  module Tests
    # @param name [String] of the tests
    # @yieldparam target [CrossTarget] run by the test
    def test_on_each_target(name, &block)
      ALL.each do |target|
        define_method(:"test_#{name}_on_#{target.name}") do
          skip(target.reason) if target.missing.any?
          instance_exec(target, &block)
        end
      end
    end
  end
end
