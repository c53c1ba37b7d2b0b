#pragma once
#include <string_view>

// The texts that machines/remote_script.h sends (Perl 5.10 and later, nothing beside its core; Linux).
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

}  // namespace millrace::machines
