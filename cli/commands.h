/* SPDX-License-Identifier: MIT */
/*
 * commands.h - one function per verb of dxgk; argv[0] is the verb.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

int cmd_client(int argc, char **argv);
int cmd_ctl(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_metrics(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_tour(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_view(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_wine(int argc, char **argv);

#endif
