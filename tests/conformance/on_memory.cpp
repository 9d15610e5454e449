// The suite on the model: the specification itself must do the same as the engines.
#include <map>
#include <mutex>

#include "conformance/backend.hpp"
#include "leasehold/mutex.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

// A model of its own for each prefix.
class models {
public:
    memory_database of(const std::string& prefix) {
        const std::lock_guard guard{mutex_};
        return made_[prefix];
    }

private:
    std::mutex mutex_;
    std::map<std::string, memory_database> made_;
};

}  // namespace

backend make_backend() {
    const auto model = std::make_shared<memory_database>();
    const auto own = std::make_shared<database>(model->open());
    backend made;
    made.name = "memory";
    made.open = [model](database_settings settings) { return model->open(std::move(settings)); };
    made.open_through = [model, own](std::shared_ptr<gate> through) {
        const auto by_gate = [&](const connector&) { return gated_connector(*own, through); };
        return model->open({}, by_gate);
    };
    const auto others = std::make_shared<models>();
    made.open_told_with_prefix =
        [others](const std::string& prefix, const backend::wrapper& wrap, backend::told by) {
            database_settings settings;
            settings.observer = std::move(by);
            return others->of(prefix).open(settings, wrap);
        };
    made.run_elsewhere = [](const backend::visit& visit) { visit(memory_database{}.open()); };
    made.age_session = [model](const session_id& id, std::chrono::microseconds by) {
        model->age_session(id, by);
    };
    made.age_lock = [model](const key& name, std::chrono::microseconds by) {
        model->age_lock(name, by);
    };
    made.age_run = [model](const key& name, std::chrono::microseconds by) {
        model->age_run(name, by);
    };
    made.age_job = [model](job_id id, std::chrono::microseconds by) { model->age_job(id, by); };
    made.age_queue = [model](const std::string& name, std::chrono::microseconds by) {
        model->age_queue(name, by);
    };
    made.remove_session_row = [model](const session_id& id) { model->remove_session_row(id); };
    made.open_as_owner = made.open;
    made.make_tables = [] {};  // they are there, and the counter is 0
    made.increment_counter = [model](connection& inside) {
        memory_server& server = model->server();
        server.write_counter(inside, server.read_counter(inside) + 1);
    };
    made.read_counter = [model] {
        const auto on = model->connect();
        return model->server().read_counter(*on);
    };
    made.writes_so_far = [model] {
        return model->server().with_tables([](memory_tables& tables) { return tables.writes; });
    };
    made.destroy = [] {};
    return made;
}

}  // namespace leasehold::testing
