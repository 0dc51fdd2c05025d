# frozen_string_literal: true

require "mkmf"

$INCFLAGS << " -I$(srcdir)"
$CFLAGS << " -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Werror=implicit-function-declaration -fvisibility=hidden"
$CFLAGS << " -O3" unless ENV["GUILDHALL_SANITIZE"]
if (sanitize = ENV.fetch("GUILDHALL_SANITIZE", nil))
  $CFLAGS << " -O1 -g -fno-omit-frame-pointer -fsanitize=#{sanitize} -fno-sanitize-recover=undefined"
  # See the extension guildhall.
  $CFLAGS << " --param asan-stack=0" if sanitize.include?("address") && RbConfig::MAKEFILE_CONFIG["CC"].include?("gcc")
  $LDFLAGS << " -fsanitize=#{sanitize}"
end
append_cflags("-fstack-clash-protection") # see the extension guildhall
# guildhall/decoder.h, columns.h, platform.h, sharing.h: from the checkout that both gems are built from, else from the installed gem.
decoder = [File.join(__dir__, "../guildhall/include"),
           *Gem::Specification.find_all_by_name("guildhall").map { |gem| File.join(gem.full_gem_path, "ext/guildhall/include") }]
  .find { |folder| File.exist?(File.join(folder, "guildhall/decoder.h")) }
abort("guildhall-kafka: guildhall/decoder.h not found; install the gem guildhall first") unless decoder
$INCFLAGS << " -I#{File.expand_path(decoder)}"
create_makefile("guildhall/kafka/native")
File.write("Makefile", "\n$(OBJS): #{Dir[File.join(decoder, "guildhall/*.h")].join(" ")}\n", mode: "a") # both gems agree on what is in them
