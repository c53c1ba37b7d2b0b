#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "machines/driver.h"

// The texts that machines/remote/remote_script.h sends (Perl 5.10 and later, nothing beside its core; Linux).
namespace millrace::machines {

// Reads the text of a program from stdin and becomes it. Its words: the token, the size of the text. Without
// a single quote, so that every login shell takes it as one word.
inline constexpr std::string_view kRemoteLoader =
    R"(binmode STDIN;$s="";($t,$n)=@ARGV;syswrite STDOUT,$t;syswrite STDERR,"$t ready\n";)"
    R"(while(length($s)<$n){sysread(STDIN,$s,$n-length($s),length($s))or exit 0})"
    R"(eval $s;if($@){syswrite STDERR,"$t broken $@";exit 1})";

// What both programs begin with. An order is a size of four bytes and fields, each with its own.
inline constexpr std::string_view kRemoteBase = R"(use strict;
my ($token) = @ARGV;
my ($execution);
sub take {
  my ($size) = @_;
  my $bytes = "";
  while (length($bytes) < $size) {
    sysread(STDIN, $bytes, $size - length($bytes), length($bytes)) or exit 0;
  }
  return $bytes;
}
sub fields { return unpack("(N/a)*", take(unpack("N", take(4)))); }
sub content {
  open(my $file, "<", $_[0]) or return "";
  binmode $file;
  local $/;
  my $bytes = <$file>;
  return defined $bytes ? $bytes : "";
}
sub marked {
  return index("\0" . content("/proc/$_[0]/environ"), "\0MILLRACE_EXECUTION_ID=$execution\0") >= 0;
}
sub tree {
  my ($root) = @_;
  my %parent;
  opendir(my $folder, "/proc") or return;
  for my $pid (grep { /^[0-9]+$/ } readdir $folder) {
    content("/proc/$pid/stat") =~ /^.*\) (\S) ([0-9]+) /s and $1 ne "Z" and $parent{$pid} = $2;
  }
  my $below = sub {
    my ($pid) = @_;
    for (my $up = $parent{$pid}; $up; $up = $parent{$up}) { return 1 if $up == $root; }
    return 0;
  };
  return grep { $_ != $$ && $_ != $root && (($root && $below->($_)) || marked($_)) } keys %parent;
}
sub sweep {
  my ($signal, $root) = @_;
  for (1 .. 300) {
    my @found = tree($root) or return;
    kill $signal, @found;
    if ($signal eq "TERM") { kill "CONT", @found; return; }
    select(undef, undef, undef, 0.01);
  }
}
)";

inline constexpr std::string_view kRemoteRun = R"(
sub told { syswrite(STDERR, "$token @_\n"); }
sub failed { told("failed", @_); exit 0; }
($execution, my $machine, my $folder, my $count, my @rest) = fields();
my @words = splice(@rest, 0, $count);
if ($folder ne "") { chdir $folder or failed("folder", $! + 0); }
sub command {
  my ($say) = @_;
  setpgrp(0, 0);
  %ENV = (%ENV, MILLRACE_MACHINE_ID => $machine, @rest, MILLRACE_EXECUTION_ID => $execution);
  { no warnings; exec { $words[0] } @words; }
  syswrite($say, $! + 0);
  kill "KILL", $$;
}
sub adopt {
  my %prctl = (x86_64 => 157, aarch64 => 167, riscv64 => 167, ppc64le => 171, s390x => 172);
  my ($architecture) = eval { require POSIX; (POSIX::uname())[4] };
  my $number = $architecture && $prctl{$architecture};
  syscall($number, 36, 1, 0, 0, 0) if $number;
}
sub run {
  adopt();
  pipe(my $said, my $say) or failed("fork", $! + 0);
  my $child = fork;
  defined $child or failed("fork", $! + 0);
  command($say) if !$child;
  $SIG{PIPE} = "IGNORE";
  close $say;
  close STDIN;
  my $reason;
  failed("execute", $reason) if sysread($said, $reason, 16);
  told("began", $$);
  my ($pid, $status);
  do { $pid = waitpid(-1, 0); $status = $?; } until $pid == $child || $pid < 0;
  sweep("KILL", $$);
  $status & 127 ? told("signal", $status & 127) : told("exit", $status >> 8);
}
pipe(my $over, my $lives) or failed("fork", $! + 0);
my $runner = fork;
defined $runner or failed("fork", $! + 0);
if (!$runner) { close $over; run(); exit 0; }
close $lives;
close STDIN;
my ($watched, $seen) = ("");
vec($watched, fileno($over), 1) = 1;
vec($watched, fileno(STDERR), 1) = 1 if -p STDERR;
select($seen = $watched, undef, undef, undef);
sweep("KILL", $runner) if !vec($seen, fileno($over), 1);
waitpid($runner, 0);
sweep("KILL", 0) if $?;
exit 0;
)";

inline constexpr std::string_view kRemoteSweep = R"(
($execution, my $run, my $root, my $signal) = fields();
$root = 0 if index(content("/proc/$root/cmdline"), $run) < 0;
sweep($signal, $root);
exit 0;
)";

// What driver ssh runs on a machine's host: small Perl programs. A shell can neither tell a signal from an
// exit code nor why a command was not executed, and starts it with signals that are ignored.
//
// Each is started by a command line that holds no value: it says that it is ready, then reads its own text
// and its order from stdin, byte by byte no further than they go. What it says stands on stderr as lines that
// begin with a random token; they may stand anywhere in what the command writes.
//
// The command is started by a process that is the subreaper of all that comes from it, with a group of its
// own and $MILLRACE_EXECUTION_ID. When it ends, or when nobody reads its stderr any more (the connection is
// gone), all that has come from it, or has that variable, is killed.

std::string make_remote_token();  // 32 hex digits

enum class RemoteTask : std::uint8_t { kRun, kSweep };

// The command line for the login shell of the machine's host, whichever that is.
std::string remote_command(RemoteTask task, const std::string& token);

// What a kRun reads. The command's own stdin follows.
std::string remote_run_input(const CommandRequest& order);

// What came from one kRun.
struct RemoteTree {
  std::string execution;
  std::string token;        // of its kRun
  std::int64_t runner = 0;  // as it told; 0: not known
};
// What a kSweep reads. SIGTERM is sent once, with a SIGCONT; SIGKILL until nothing is left.
std::string remote_sweep_input(const RemoteTree& tree, int signal);

// A line that was said.
struct RemoteMessage {
  enum class What : std::uint8_t {
    kReady,   // to read its text and its order: nothing has run
    kBegan,   // the command runs: `runner`
    kEnded,   // `end`: kExited, kSignalled, kPrepareFailed
    kBroken,  // `end`: kHostFailed, its message is for the log
  };
  What what = What::kBroken;
  std::int64_t runner = 0;
  CommandEnd end;
};
RemoteMessage remote_message_from(std::string_view line);

// Takes what was said out of the stderr of a kRun. What was read before it was ready is not the command's.
class RemoteErrors {
 public:
  explicit RemoteErrors(std::string token) : token_(std::move(token)) {}

  struct Piece {
    bool word = false;      // `text` is a line without its token; else the command's bytes
    std::string_view text;  // valid until the next call of this object
  };
  void add(std::string_view bytes);
  std::optional<Piece> next();  // nullopt: more must be read
  std::string_view rest();      // at the end: what looked like the beginning of a token

 private:
  std::string token_;
  std::string bytes_;
  std::size_t taken_ = 0;  // of `bytes_`
};

// Drops what a login shell wrote to stdout before the token, then passes everything on.
class RemoteOutput {
 public:
  explicit RemoteOutput(std::string token) : token_(std::move(token)) {}
  std::string_view passed(std::string_view bytes);  // the part of `bytes` that is the command's

 private:
  std::string token_;
  std::string tail_;
  bool ready_ = false;
};

}  // namespace millrace::machines
