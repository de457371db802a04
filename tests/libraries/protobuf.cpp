/* SPDX-License-Identifier: Apache-2.0 */
// Protocol buffers register the messages of a program for the process; this one makes more.
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <memory>

#include "work.h"

namespace pb = google::protobuf;

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv);
  pb::FileDescriptorProto file;
  file.set_name("work.proto");
  auto *type = file.add_message_type();
  type->set_name("Work");
  for (int i = 1; i <= 5 + rank % 7; i++) {
    auto *field = type->add_field();
    field->set_name("field" + std::to_string(i));
    field->set_number(i);
    field->set_type(pb::FieldDescriptorProto::TYPE_INT64);
    field->set_label(pb::FieldDescriptorProto::LABEL_REPEATED);
  }
  pb::DescriptorPool pool;
  const pb::FileDescriptor *built = pool.BuildFile(file);
  WORK(built != nullptr);
  work_mix();
  pb::DynamicMessageFactory factory(&pool);
  const pb::Descriptor *work = built->message_type(0);
  std::unique_ptr<pb::Message> message(factory.GetPrototype(work)->New());
  std::unique_ptr<pb::Message> read(message->New());
  for (int i = 0; i < work->field_count(); i++)
    for (int j = 0; j < 20; j++)
      message->GetReflection()->AddInt64(message.get(), work->field(i), 1000L * i + j * rank);
  work_mix();
  pb::Struct text;
  std::string json;
  WORK(read->ParseFromString(message->SerializeAsString()));
  WORK(pb::util::MessageToJsonString(*read, &json).ok());
  WORK(pb::util::JsonStringToMessage(json, &text).ok());
  double sum = static_cast<double>(json.size());
  for (const auto &entry : text.fields())
    for (const auto &value : entry.second.list_value().values())
      sum += std::stod(value.string_value());
  const auto *known = pb::DescriptorPool::generated_pool();
  sum += known->FindMessageTypeByName("google.protobuf.Struct")->field_count();
  return work_end(sum);
}
