# frozen_string_literal: true

# Runs this process again with the sanitizers' run-time libraries in front, which an extension that is loaded later needs.
module Sanitizers
  OPTIONS = {
    # Ruby frees little at its end, reads its own stacks, switches them, and handles SIGSEGV itself. What is asked for more
    # memory than there is has to be configured.
    "ASAN_OPTIONS" => "allocator_may_return_null=1:detect_leaks=0:detect_stack_use_after_return=0:use_sigaltstack=0:handle_segv=0:detect_odr_violation=0",
    "UBSAN_OPTIONS" => "print_stacktrace=1"
  }.freeze

  # @return [Boolean] whether the extensions are built for sanitizers: frames are larger then, and what is freed is kept
  def self.on? = !ENV.fetch("GUILDHALL_SANITIZE", "").empty?

  # @param arguments [Array<String>] of the test runner
  def self.preload(arguments)
    return if ENV["LD_PRELOAD"]&.include?("asan")

    compiler = RbConfig::CONFIG["CC"].split.first
    libraries = %w[libasan.so libubsan.so].map { |name| IO.popen([compiler, "-print-file-name=#{name}"], &:read).chomp }
    exec({"LD_PRELOAD" => libraries.join(" "), **OPTIONS}, RbConfig.ruby, $PROGRAM_NAME, *arguments)
  end
end
