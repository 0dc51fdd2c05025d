# frozen_string_literal: true

require "mkmf"
require_relative "json/powers_of_five"
require_relative "../../lib/guildhall/version"

unless Gem::Requirement.new(Guildhall::RUBIES).satisfied_by?(Gem.ruby_version)
  abort("guildhall #{Guildhall::VERSION} is proved on Ruby #{Guildhall::RUBIES.join(", ")}, and could corrupt memory on #{RUBY_VERSION}: " \
        "use one of those, or a newer guildhall. GUILDHALL_UNPROVED_RUBY=1 builds it all the same, to try it")
end
# What only such a trial builds is loaded by such a trial alone.
$defs << "-DGUILDHALL_UNPROVED_RUBY" if Gem.ruby_version >= Gem::Version.new("4.1.a")

# What the code takes for granted, with a name for those who have not got it.
{"a 64-bit Ruby" => "__SIZEOF_POINTER__ != 8",
 "a little-endian processor (keys are compared by words)" => "__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__",
 "a compiler with __int128 (gcc or clang)" => "!defined(__SIZEOF_INT128__)"}.each do |what, lacks|
  next if checking_for(what) { try_cpp("#if #{lacks}\n#error not here\n#endif\n") }

  abort("guildhall: needs #{what}; this is #{RbConfig::CONFIG["host"]} with #{RbConfig::MAKEFILE_CONFIG["CC"]}. mkmf.log has the details")
end

$INCFLAGS << " -I. -I$(srcdir) -I$(srcdir)/include"
PowersOfFive.write("powers_of_five.h")
$CFLAGS << " -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Werror=implicit-function-declaration -fvisibility=hidden"
$CFLAGS << " -O3" unless ENV["GUILDHALL_SANITIZE"] || ENV["GUILDHALL_COUNT"]
if (sanitize = ENV.fetch("GUILDHALL_SANITIZE", nil))
  $CFLAGS << " -O1 -g -fno-omit-frame-pointer -fsanitize=#{sanitize} -fno-sanitize-recover=undefined"
  # Ruby leaves frames by longjmp, and for stacks of its own making AddressSanitizer cannot tell which ones.
  $CFLAGS << " --param asan-stack=0" if sanitize.include?("address") && RbConfig::MAKEFILE_CONFIG["CC"].include?("gcc")
  $LDFLAGS << " -fsanitize=#{sanitize}"
end
# Buffers on the stack are larger than the guard page below it, which a frame must not jump over.
append_cflags("-fstack-clash-protection")
have_func("rb_set_foreach", "ruby.h")
# What only Linux has; GUILDHALL_PORTABLE=1 builds what other systems get.
unless ENV["GUILDHALL_PORTABLE"]
  $defs << "-DGUILDHALL_FUTEX" if have_header("linux/futex.h")
  $defs << "-DGUILDHALL_TIMERFD" if have_func("timerfd_create", "sys/timerfd.h")
end
# After the checks above, whose programs would lack it: each jump calls __sanitizer_cov_trace_pc, which test/support/work_count.c
# has, so that tests can count what the C code does.
$CFLAGS << " -O1 -fsanitize-coverage=trace-pc -fno-builtin" if ENV["GUILDHALL_COUNT"]

# Objects lie beside the Makefile. json/build.c becomes json-build.o: no source has a dash in its name, so that no two collide.
included, compiled = Dir["**/*.c", base: __dir__].sort.partition { |path| path.end_with?(".inc.c") }
sources = compiled.to_h { |path| ["#{path.delete_suffix(".c").tr("/", "-")}.#{$OBJEXT}", path] }
$objs = sources.keys
$srcs = sources.values.map { |path| File.join(__dir__, path) }
create_makefile("guildhall/native")
headers = [*included, *Dir["**/*.h", base: __dir__]].map { |path| "$(srcdir)/#{path}" }
rules = sources.map { |object, path| <<~RULE }
  #{object}: $(srcdir)/#{path}
  \t$(ECHO) compiling $(<)
  \t$(Q) $(CC) $(INCFLAGS) $(CPPFLAGS) $(CFLAGS) $(COUTFLAG)$@ -c $(CSRCFLAG)$(srcdir)/#{path}
RULE
File.write("Makefile", "\n#{rules.join}$(OBJS): #{headers.join(" ")}\n", mode: "a")
