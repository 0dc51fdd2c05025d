# frozen_string_literal: true

require "mkmf"

# Sources lie in a folder a part; the objects all land beside the Makefile, so base names are unique.
folders = Dir[File.join(__dir__, "**/")].map { |folder| folder.delete_prefix(__dir__).delete_prefix("/").chomp("/") }
$srcs = Dir[File.join(__dir__, "**/*.c")]
folders.each do |folder|
  $VPATH << "$(srcdir)/#{folder}"
end
$INCFLAGS << " -I$(srcdir) -I$(srcdir)/include"
$CFLAGS << " -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Werror=implicit-function-declaration -fvisibility=hidden"
$CFLAGS << " -O3" unless ENV["GUILDHALL_SANITIZE"]
if (sanitize = ENV.fetch("GUILDHALL_SANITIZE", nil))
  $CFLAGS << " -O1 -g -fno-omit-frame-pointer -fsanitize=#{sanitize} -fno-sanitize-recover=undefined"
  # Ruby leaves frames by longjmp, and for stacks of its own making AddressSanitizer cannot tell which ones.
  $CFLAGS << " --param asan-stack=0" if sanitize.include?("address") && RbConfig::MAKEFILE_CONFIG["CC"].include?("gcc")
  $LDFLAGS << " -fsanitize=#{sanitize}"
end
have_const("RUBY_TYPED_FROZEN_SHAREABLE", "ruby.h")
have_func("rb_hash_new_capa", "ruby.h")
have_func("rb_hash_bulk_insert", "ruby.h")
create_makefile("guildhall/native")
# Objects depend on the headers of every folder; mkmf knows of the first one's only.
File.write("Makefile", "\n$(OBJS): #{Dir[File.join(__dir__, "**/*.h")].join(" ")}\n", mode: "a")
