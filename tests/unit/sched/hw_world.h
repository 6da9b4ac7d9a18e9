/* SPDX-License-Identifier: MIT */
/*
 * hw_world.h - the world of world.h, with hardware queues.
 *
 *	1:a5   packet a went to the hardware on node 1, with progress 5
 */
#ifndef TESTS_UNIT_SCHED_HW_WORLD_H
#define TESTS_UNIT_SCHED_HW_WORLD_H

#include "world.h"

#define DELAY_NS (2 * NS_PER_S + NS_PER_MS) /* TdrDelay, and a moment */

enum { STREAMS = 4, PACKETS = 16 };

struct hw_packet {
	struct sched_packet packet;
	char name;
	NTSTATUS submit_status;
	bool completes_at_once; /* before submit() returns */
};

struct hw_stream {
	struct sched_queue queue;
	_Atomic uint64_t fence;
	int name;         /* of the queue */
	int context_name; /* of its context */
	bool is_there;
};

static struct hw_stream streams[STREAMS];
static struct hw_packet hw_packets[PACKETS];
static unsigned hw_packet_count;

static inline struct hw_packet *hw_packet_of(struct sched_packet *packet)
{
	return container_of(packet, struct hw_packet, packet);
}

static inline struct hw_stream *stream_of_queue(struct sched_queue *queue)
{
	return container_of(queue, struct hw_stream, queue);
}

static inline NTSTATUS hw_submit(struct sched_packet *packet,
				 const struct sched_submission *submission)
{
	struct hw_packet *hw = hw_packet_of(packet);

	fake_gpu_note(&world.gpu, "%u:%c%u", submission->node, hw->name,
		      (unsigned)packet->progress);
	if (hw->completes_at_once) {
		atomic_store(&stream_of_queue(packet->queue)->fence, packet->progress);
		sched_on_fence_written(world.sched);
	}
	return hw->submit_status;
}

static inline void hw_retired(struct sched_packet *packet, enum sched_outcome outcome)
{
	fake_gpu_note(&world.gpu, "%c%c", hw_packet_of(packet)->name,
		      outcome == SCHED_DONE      ? '.'
		      : outcome == SCHED_ABORTED ? '!'
						 : '-');
}

static const struct sched_packet_ops hw_ops = { .submit = hw_submit, .retired = hw_retired };

static inline void start_with(const struct sched_config *config)
{
	world_start_with(config);
	memset(streams, 0, sizeof(streams));
	hw_packet_count = 0;
}

static inline void start(void)
{
	struct sched_config config = fake_gpu_config();

	start_with(&config);
}

static inline struct hw_stream *make(unsigned which, unsigned owner, unsigned node)
{
	struct hw_stream *stream = &streams[which];

	sched_hw_queue_init(
		&stream->queue, &world.owners[owner], node,
		&(struct sched_hw_identity){ .progress = &stream->fence,
					     .queue_names = { &stream->name, NULL },
					     .context_names = { &stream->context_name, NULL } });
	stream->is_there = true;
	return stream;
}

static inline struct hw_packet *hw_packet(char name, uint64_t progress)
{
	struct hw_packet *packet = &hw_packets[hw_packet_count++];

	*packet = (struct hw_packet){
		.packet = { .kind = SCHED_WORK, .ops = &hw_ops, .progress = progress }, .name = name
	};
	return packet;
}

static inline void give(struct hw_stream *stream, char name, uint64_t progress)
{
	QUEUE(&stream->queue, hw_packet(name, progress));
}

/* One for each letter, with progress 1, 2, 3 … */
static inline void gives(struct hw_stream *stream, const char *names)
{
	for (uint64_t progress = 1; *names; progress++)
		give(stream, *names++, progress);
}

/* The hardware is that far, and says that some fence was written. */
static inline void reach(struct hw_stream *stream, uint64_t progress)
{
	atomic_store(&stream->fence, progress);
	sched_on_fence_written(world.sched);
}

static inline void finish(void)
{
	for (unsigned i = 0; i < STREAMS; i++) {
		if (streams[i].is_there)
			sched_queue_finish(&streams[i].queue, SCHED_CANCEL_ALL);
	}
	world_finish();
}

#define HW_TEST(suite, claim) TEST_BETWEEN(start(), finish(), suite, claim)

#define HW_TEST_WITH(suite, claim, ...)                                                            \
	TEST_BETWEEN(struct sched_config config = fake_gpu_config(); (__VA_ARGS__);                \
		     start_with(&config), finish(), suite, claim)

#endif
